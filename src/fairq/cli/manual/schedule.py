"""The lines for cron, the systemd units and the rotation of logs, to paste; docs/operations.md has the same."""

from __future__ import annotations

CRON = (
    "FAIRQ_STATE=/var/lib/fairq/pool.db",
    "PATH=/opt/fairq/bin:/usr/bin:/bin",
    "* * * * *    fairq -q negotiate",
    "*/5 * * * *  fairq -q pool check --mail",
    "* * * * * fairq metrics --out /var/lib/prometheus/node-exporter/fairq.prom",
)

SERVICE = """\
[Unit]
Description=One cycle of the fairq pool
Documentation=man:fairq(1)

[Service]
Type=oneshot
User=fairq
StateDirectory=fairq
Environment=FAIRQ_STATE=/var/lib/fairq/pool.db
ExecStart=/opt/fairq/bin/fairq -q negotiate
SuccessExitStatus=75
# Jobs and their supervisors outlive the cycle that started them.
KillMode=process
Delegate=yes
"""

TIMER = """\
[Unit]
Description=A cycle of the fairq pool every minute

[Timer]
OnCalendar=*:0/1
AccuracySec=5s

[Install]
WantedBy=timers.target
"""

LOGROTATE = """\
/var/log/fairq/*.log {
    monthly
    rotate 12
    compress
    missingok
    notifempty
    copytruncate
}
"""

TEXTS = (
    ("Lines for crontab(5). They print nothing on success. 'pool check' mails each fault once, by mail.command:",
     CRON),
    ("/etc/systemd/system/fairq.service, which runs a cycle:", SERVICE.splitlines()),
    ("/etc/systemd/system/fairq.timer, to enable with 'systemctl enable --now fairq.timer':",
     TIMER.splitlines()),
    ("/etc/logrotate.d/fairq, for event logs of jobs in one directory:", LOGROTATE.splitlines()),
)  # fmt: skip
"""The description of each text, and its lines."""
