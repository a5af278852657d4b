#!/usr/bin/env bash
# build_disk.sh BUILD: prints the folder of an emulated host's disk, kernel and initial ramdisk, and makes it first where there is
# none of these inputs. It is a Debian 13 (VM_RELEASE=bookworm: 12) with systemd, cgroup v2 and SELinux's policy, with the packages
# that Sandkeep needs, its users, and an image for sandboxes in the engine's storage. Sandkeep itself comes on a second disk, so that
# no change of it asks for a new one of these. Root; about five minutes when there is none.
set -euo pipefail

HERE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/host.sh
. "$HERE/../../deploy/host.sh"
# shellcheck source=tests/debian_root.sh
. "$HERE/../debian_root.sh"

BUILD=${1:?folder of a build}
RELEASE=${VM_RELEASE:-trixie}
OWN_RELEASE=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
DISK_SIZE=6G
IMAGE=localhost/sandkeep-sandbox

# Another release's libraries have other names: those of this one come with the executables.
guest_packages() {
  printf '%s\n' systemd-sysv dbus udev kmod procps iproute2 linux-image-cloud-amd64 initramfs-tools auditd \
    selinux-policy-default selinux-policy-dev selinux-utils policycoreutils policycoreutils-python-utils
  sk_packages run
  [[ $RELEASE != "$OWN_RELEASE" ]] || sk_library_packages \
    "$BUILD"/{gateway/sandkeep-gateway,agent/sandkeep-agent,agent/ctl/sandkeepctl,agent/file_process/sandkeep-files,agent/imager/sandkeep-imager}
}

hash_input() {
  {
    cat "${BASH_SOURCE[0]}" "$HERE"/../debian_root.sh "$HERE"/guest/* "$SK_ROOT"/deploy/selinux/{install.sh,fedora.m4,sandkeep.te,sandkeep.fc}
    printf '%s\n' "$RELEASE" "$@"
  } | sha256sum | cut -c1-16
}

# guest_debian TARGET FORMAT VARIANT PACKAGE…
guest_debian() {
  make_debian "$RELEASE" "$1" "$2" "$3" "$(IFS=, && echo "${*:4}")" --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' >&2
}

lay_out_guest() {
  install -Dm 0644 "$HERE/guest/hand.service" "$ROOT/etc/systemd/system/hand.service"
  install -Dm 0755 "$HERE/guest/hand.py" "$ROOT/usr/local/libexec/hand.py"
  systemctl --root="$ROOT" --quiet enable hand.service
  # One address, that of the emulator's own network: whoever asks for none waits for none.
  install -Dm 0644 "$HERE/guest/network.conf" "$ROOT/etc/systemd/network/10-emulated.network"
  systemctl --root="$ROOT" --quiet enable systemd-networkd.service
  systemctl --root="$ROOT" --quiet disable systemd-networkd-wait-online.service
  systemctl --root="$ROOT" --quiet mask apt-daily.timer apt-daily-upgrade.timer podman-auto-update.timer
  echo sandkeep-vm >"$ROOT/etc/hostname"
  # Its own file system has project quotas, and is mounted before there are any other modules.
  echo quota_v2 >>"$ROOT/etc/initramfs-tools/modules"
}

# Reads the image. Its files are given to the ids that sandboxes use here and now: in the emulated host it takes minutes.
# shellcheck disable=SC2016 # expanded inside
fill_storage='. /run/deploy/host.sh
  sk_create_users
  sk_prepare_host
  sk_podman import -q - "$1" >/dev/null
  container=$(sk_podman create --userns=nomap --network none --pull=never "$1" true)
  sk_podman container init "$container" >/dev/null
  sk_podman rm -f -t 0 "$container" >/dev/null'

# As the guest would do it, for ten minutes. A disk made of a folder has no labels but those that the folder has.
label_guest() {
  in_debian "$ROOT" "$SK_ROOT/deploy/selinux" run/module '/run/module/install.sh' >&2
  setfiles -F -r "$ROOT" "$ROOT/etc/selinux/default/contexts/files/file_contexts" "$ROOT" >&2
}

make_disk() {
  local folder=$1
  shift
  ROOT=$WORK/root
  guest_debian "$WORK/image.tar" tar minbase procps
  guest_debian "$ROOT" directory important "$@"
  lay_out_guest
  in_debian "$ROOT" "$SK_ROOT/deploy" run/deploy "$fill_storage" "$IMAGE" <"$WORK/image.tar" >&2
  in_debian "$ROOT" "$SK_ROOT/deploy" run/deploy 'update-initramfs -u' >&2
  cp "$ROOT"/boot/vmlinuz-* "$folder/vmlinuz"
  cp "$ROOT"/boot/initrd.img-* "$folder/initrd"
  label_guest
  rm -rf "${ROOT:?}"/boot/* "$ROOT"/var/cache/apt/archives/*.deb "$ROOT"/var/lib/apt/lists/* "$ROOT"/var/tmp/*
  mke2fs -q -t ext4 -O quota,project -E quotatype=prjquota -d "$ROOT" "$folder/disk.img" "$DISK_SIZE" >&2
}

mapfile -t packages < <(guest_packages | sort -u)
folder=$SK_CACHE/vm-$RELEASE-$(hash_input "${packages[@]}")
if [[ ! -f $folder/complete ]]; then
  sk_need_root
  sk_say "making the disk of an emulated host; this takes some minutes"
  rm -rf "$SK_CACHE/vm-$RELEASE-"*
  mkdir -p "$folder"
  WORK=$(mktemp -d /var/tmp/sandkeep-vm.XXXXXXXX)
  trap 'rm -rf --one-file-system "$WORK"' EXIT
  chmod 0755 "$WORK"
  make_disk "$folder" "${packages[@]}"
  touch "$folder/complete"
fi
printf '%s\n' "$folder"
