import { describeTrouble, type Pod } from "@agent-sandbox/api";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { fetchJson } from "../client/discovery.ts";
import { forwardPort } from "../client/forward-port.ts";
import { podTrouble } from "../client/pod-trouble.ts";
import { podOf, podPath, type SandboxPod } from "../client/sandbox-pod.ts";
import { CommandError } from "../command-error.ts";

export interface PortForwardOptions extends GlobalOptions {
  readonly address: string;
}

export async function portForward(sandbox: string, text: string, options: PortForwardOptions): Promise<void> {
  const ports = parsePorts(text);
  await using connection = await connect(options);
  const pod = await podOf(connection, sandbox, { wakes: true });
  // Report a Pod that does not run now instead of at the first connection, which wakes the sandbox if it is asleep.
  if (!pod.isAsleep) await checkRunning(connection, pod);
  const forwarded = await forwardPort(connection, connection.namespace, pod, { ...ports, address: options.address });
  console.log(`Forwarding from ${forwarded.address} -> ${ports.remote}`);
  // Until this program is interrupted.
  await new Promise(() => undefined);
}

async function checkRunning(connection: Connection, { name, sandbox = name }: SandboxPod): Promise<void> {
  const { status } = (await fetchJson(connection.transport, podPath(connection.namespace, name))) as Pod;
  if (status?.phase === "Running") return;
  const trouble = await podTrouble(connection, sandbox);
  const why = trouble === undefined ? `its Pod is ${status?.phase}` : describeTrouble(trouble);
  throw new CommandError(`sandbox "${sandbox}" has no ports yet: ${why}`);
}

/** Parses `8080:80`, `80` (the same port on both sides) or `:80` (any free local port). */
export function parsePorts(text: string): { readonly local: number; readonly remote: number } {
  const [, local, remote] = /^(?:(\d{0,5}):)?(\d{1,5})$/.exec(text) ?? [];
  const ports = { local: Number(local ?? remote), remote: Number(remote) };
  if (remote !== undefined && ports.remote > 0 && ports.remote <= 65_535 && ports.local <= 65_535) return ports;
  throw new CommandError(`Cannot read ports "${text}": write local:remote, as in 8080:80`);
}
