/** Where systemd looks for the units of an administrator. */
export const unitPath = "/etc/systemd/system/agent-sandbox.service";

/**
 * The systemd unit of a box. Its settings are in `config.json`, so that a change needs no change of the unit. systemd ends only
 * the box's own process (KillMode), because sandboxes keep running while the box is stopped.
 */
export function serviceUnit(program: string, dataDir: string): string {
  const command = [program, "--data-dir", dataDir, "up", "--foreground"].map(quoteWord).join(" ");
  return `[Unit]
Description=Agent Sandbox: isolated sandboxes behind a Kubernetes API
After=network-online.target
Wants=network-online.target

[Service]
Type=exec
ExecStart=${command}
KillMode=process
Restart=on-failure
RestartSec=2
TimeoutStopSec=60
# A sandbox under gVisor uses half of this limit.
LimitNOFILE=1048576
TasksMax=infinity
OOMPolicy=continue

[Install]
WantedBy=multi-user.target
`;
}

/** A word of ExecStart: systemd.service(5) expands % and $, and understands C escapes in quotes. */
export function quoteWord(word: string): string {
  const safe = word.replaceAll("%", "%%").replaceAll("$", "$$$$");
  return /^[\w./:=@%+$-]+$/.test(safe) ? safe : `"${safe.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
