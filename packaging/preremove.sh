#!/bin/sh
# Before the deb or the rpm goes. The first argument tells a removal from an
# upgrade, which must leave the service running: deb says "remove", rpm says 0.
set -eu

case ${1:-} in
  remove | 0)
    if [ -d /run/systemd/system ]; then
      systemctl disable --now kernelctl.service || true
    fi
    ;;
esac
