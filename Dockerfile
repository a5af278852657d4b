# Three images: `sandbox`, in which commands run, and `gateway` and `agent` for those who run the
# two processes in containers. deploy/image/build.sh builds the first one for a machine of its own.

ARG BASE=debian:trixie-slim

# --- sandbox -------------------------------------------------------------------------------------

FROM ${BASE} AS sandbox

COPY deploy/image/rootfs/ /

ENV LANG=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive \
    PIP_BREAK_SYSTEM_PACKAGES=1 \
    PIP_ROOT_USER_ACTION=ignore

# The package lists stay, so that `apt-get install` works at once; when they are out of date, apt
# itself says to update. The base's docker-clean would make every call of apt rebuild its cache.
RUN set -eu; \
    rm -f /etc/apt/apt.conf.d/docker-clean; \
    if [ -f /etc/apt/sources.list.d/debian.sources ]; then rm -f /etc/apt/sources.list; fi; \
    echo 'debconf debconf/frontend select Noninteractive' | debconf-set-selections; \
    apt-get -qq update; \
    apt-get -qq install --no-install-recommends \
      apt-utils bash build-essential ca-certificates coreutils curl fd-find file git jq less nano \
      procps python-is-python3 python3 python3-pip python3-venv ripgrep tar unzip wget xz-utils \
      zip; \
    update-ca-certificates >/dev/null; \
    ln -s /usr/bin/fdfind /usr/local/bin/fd; \
    rm -rf /var/cache/apt/archives/*.deb /var/cache/apt/*.bin /var/log/apt /var/log/dpkg.log; \
    mkdir -p /workspace /sandbox

WORKDIR /workspace
CMD ["/bin/bash", "-l"]

# --- the two processes ---------------------------------------------------------------------------

# host.sh is bash's; podman's own image format knows no SHELL.
FROM ${BASE} AS build
COPY deploy/host.sh /src/deploy/host.sh
RUN bash -euo pipefail -c '. /src/deploy/host.sh; sk_install_packages build'
COPY CMakeLists.txt CMakePresets.json /src/
COPY proto/ /src/proto/
COPY common/ /src/common/
COPY agent/ /src/agent/
COPY gateway/ /src/gateway/
# Beside the executables, the names of the packages whose libraries they load.
RUN bash -euo pipefail -c '. /src/deploy/host.sh; sk_build release; \
    cd /src/build/release; \
    install -Dst /out/bin gateway/sandkeep-gateway agent/sandkeep-agent agent/ctl/sandkeepctl; \
    install -Dst /out/libexec agent/init/sandkeep-init agent/file_process/sandkeep-files \
      agent/imager/sandkeep-imager; \
    sk_library_packages /out/bin/* /out/libexec/* >/out/packages'

FROM ${BASE} AS gateway
COPY --from=build /out/packages /tmp/packages
RUN set -eu; \
    apt-get -qq update; \
    xargs -a /tmp/packages apt-get -qq -y install --no-install-recommends ca-certificates \
      media-types; \
    rm -rf /var/lib/apt/lists/* /tmp/packages; \
    groupadd --system --gid 990 sandkeep-api; \
    useradd --system --uid 991 --user-group --groups sandkeep-api --home-dir \
      /var/lib/sandkeep-gateway --create-home --shell /usr/sbin/nologin sandkeep-gw
COPY --from=build /out/bin/sandkeep-gateway /usr/bin/
USER sandkeep-gw
VOLUME /var/lib/sandkeep-gateway
ENV STATE_DIR=/var/lib/sandkeep-gateway \
    AGENT_SOCKET=/run/sandkeep/agent/agent.sock \
    SANDBOX_HOST=0.0.0.0
EXPOSE 8000
ENTRYPOINT ["/usr/bin/sandkeep-gateway"]

# The agent starts containers inside its own. It needs user namespaces (so no seccomp or capability
# limits that forbid newuidmap), /dev/net/tun, a tmpfs of the user sandkeep on /run/sandkeep/engine,
# and a volume on /run/sandkeep/agent that the gateway's container shares. The gateway's user has
# the uid that it has in its own image: the kernel's word for it is all that the agent goes by. The
# default SANDBOX_NETWORK=internet needs the filter of a systemd unit, which no container has: set
# `full` (the container's whole network) or `none`, else nothing starts.
FROM ${BASE} AS agent
COPY --from=build /out/packages /tmp/packages
COPY deploy/host.sh /usr/share/sandkeep/deploy/host.sh
RUN bash -euo pipefail -c '. /usr/share/sandkeep/deploy/host.sh; \
    sk_install_packages run; \
    xargs -a /tmp/packages apt-get -qq -y install --no-install-recommends; \
    rm -rf /var/lib/apt/lists/* /tmp/packages; \
    groupadd --system --gid 990 sandkeep-api; \
    useradd --system --uid 991 --user-group --groups sandkeep-api --home-dir \
      "$SK_GATEWAY_HOME" --shell /usr/sbin/nologin "$SK_GATEWAY_USER"; \
    sk_create_users; \
    SK_OCI_RUNTIME=crun sk_write_engine_config'
COPY --from=build /out/bin/sandkeep-agent /out/bin/sandkeepctl /usr/bin/
COPY --from=build /out/libexec/ /usr/libexec/sandkeep/
USER sandkeep
VOLUME /var/lib/sandkeep
ENV HOME=/var/lib/sandkeep \
    XDG_RUNTIME_DIR=/run/sandkeep/engine \
    STATE_DIR=/var/lib/sandkeep \
    AGENT_SOCKET=/run/sandkeep/agent/agent.sock
ENTRYPOINT ["/usr/bin/catatonit", "--", "/usr/bin/sandkeep-agent"]
