#!/bin/sh
# Makes the daemon's user. The service is not enabled: systemctl enable --now aiperfd
if [ -d /run/systemd/system ] && command -v systemd-sysusers >/dev/null; then
	systemd-sysusers aiperfd.conf
	systemctl daemon-reload
fi
