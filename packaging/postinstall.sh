#!/bin/sh
# After the installation of the deb or the rpm, also after an upgrade. Nothing is
# enabled or started that was not running before.
set -eu

if ! getent group kernelctl >/dev/null; then
  groupadd --system kernelctl
fi
if ! getent passwd kernelctl >/dev/null; then
  useradd --system --gid kernelctl --home-dir /var/lib/kernelctl --no-create-home \
    --shell /usr/sbin/nologin --comment "kernelctl service" kernelctl
fi
# systemd makes it, too; here it is for a restore before the first start.
install -d -m 0700 -o kernelctl -g kernelctl /var/lib/kernelctl

running=no
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
  if systemctl is-active --quiet kernelctl.service; then
    running=yes
    # A new build; agents do not notice a clean restart.
    systemctl restart kernelctl.service || true
  fi
fi

# deb: "configure" and the version before, which a first installation lacks.
# rpm: how many versions are installed now.
if [ "$running" = no ] && { [ "${1:-}" = 1 ] || { [ "${1:-}" = configure ] && [ -z "${2:-}" ]; }; }; then
  cat <<'END'
kernelctl is installed and not started. To run it as a service, set
SERVICE_BEARER_TOKEN in /etc/kernelctl/kernelctl.env, then

  systemctl enable --now kernelctl
END
fi
