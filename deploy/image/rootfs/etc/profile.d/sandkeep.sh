# shellcheck shell=sh
# What each command needs of the environment; the image's own variables don't reach it.
export LANG="${LANG:-C.UTF-8}" \
  PIP_BREAK_SYSTEM_PACKAGES=1 PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1
