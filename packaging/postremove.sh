#!/bin/sh
# After the deb or the rpm is gone. The data and its user stay, also on a purge:
# the log is the record of what agents did.
set -eu

case ${1:-} in
  remove | purge | 0)
    if [ -d /run/systemd/system ]; then
      systemctl daemon-reload || true
    fi
    ;;
esac
case ${1:-} in
  purge | 0)
    if [ -d /var/lib/kernelctl ]; then
      echo "kernelctl: the data in /var/lib/kernelctl is kept"
    fi
    ;;
esac
