#!/usr/bin/python3
"""Has the kernel hold sandboxes to SANDBOX_DISK, where the file system of the engine's storage has project quotas.

Only root may set limits. So the agent isn't given the right: each project of a range that is Sandkeep's own gets the same limit
here, once, of bytes and of names, and the agent gives each sandbox a project of that range by itself. It trusts none of this: it
looks by itself whether the limits are in force. Where the file system has no project quotas, this says so and changes nothing;
SANDBOX_DISK is then only looked at.

usage: quota.py AGENT_ENV_FILE STORAGE
"""

import ctypes
import errno
import os
import sys

# As common/limits.h has them.
FIRST_PROJECT, PROJECTS = 0x534B0000, 4096
BYTES_PER_NAME = 4096
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}

# linux/quota.h; of quotactl_fd the number is the same on every architecture.
SYS_QUOTACTL_FD = 443
PRJQUOTA = 2
Q_GETQUOTA, Q_SETQUOTA = 0x800007, 0x800008
QIF_LIMITS = 1 | 4
BLOCK = 1024
NO_QUOTAS = (errno.ESRCH, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL)


class Quota(ctypes.Structure):
    """struct if_dqblk"""
    _fields_ = [(name, ctypes.c_uint64) for name in ("hard_blocks", "soft_blocks", "used_bytes", "hard_names", "soft_names",
                                                     "used_names", "grace_blocks", "grace_names")] + [("valid", ctypes.c_uint32)]


def quotactl(folder, command, project, quota):
    done = ctypes.CDLL(None, use_errno=True).syscall(SYS_QUOTACTL_FD, ctypes.c_uint(folder), ctypes.c_uint(command << 8 | PRJQUOTA),
                                                     ctypes.c_uint(project), ctypes.byref(quota))
    if done != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def limit(env_file):
    """SANDBOX_DISK in bytes, of the agent's file; what it can't read there it says itself."""
    found = "0"
    with open(env_file, encoding="utf-8", errors="replace") as file:
        for line in file:
            name, equals, value = line.strip().partition("=")
            if equals and name.strip() == "SANDBOX_DISK":
                found = value.strip().strip("\"'").lower()
    digits, unit = (found[:-1], UNITS[found[-1]]) if found[-1:] in UNITS else (found, 1)
    return int(digits) * unit if digits.isdecimal() else 0


def open_storage(path):
    """The folder, or where it will be. What the agent's user may put in its place doesn't lead elsewhere."""
    folder = os.open("/", os.O_PATH | os.O_DIRECTORY)
    for name in os.path.normpath(path).split("/")[1:]:
        try:
            below = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
        except FileNotFoundError:
            break
        os.close(folder)
        folder = below
    return folder


def set_limits(folder, size):
    """How many weren't so before. Whole blocks of the usual size, since a file system that has larger ones would round up, and nobody is
    to get more than SANDBOX_DISK; 0 is no limit."""
    names = max(size // BYTES_PER_NAME, 1) if size else 0
    blocks = names * BYTES_PER_NAME // BLOCK
    changed = 0
    for project in range(FIRST_PROJECT, FIRST_PROJECT + PROJECTS):
        quota = Quota()
        try:
            quotactl(folder, Q_GETQUOTA, project, quota)
        except FileNotFoundError:
            pass  # XFS: nobody has asked for it yet.
        if (quota.hard_blocks, quota.hard_names) == (blocks, names):
            continue
        quotactl(folder, Q_SETQUOTA, project, Quota(hard_blocks=blocks, hard_names=names, valid=QIF_LIMITS))
        changed += 1
    return changed


def main():
    env_file, storage = sys.argv[1:]
    size = limit(env_file)
    try:
        changed = set_limits(open_storage(storage), size)
    except OSError as error:
        if error.errno not in NO_QUOTAS:
            raise
        print(f"no project quotas on the file system of {storage} ({error.strerror}): SANDBOX_DISK is only looked at")
        return
    print(f"SANDBOX_DISK is {size} bytes: {changed} of {PROJECTS} limits set")


if __name__ == "__main__":
    main()
