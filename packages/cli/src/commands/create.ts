import { sandboxes } from "@agent-sandbox/api";
import { connect, type GlobalOptions } from "../client/connect.ts";
import { createSandbox, untilReady } from "../client/create-sandbox.ts";
import { displayName } from "../client/discovery.ts";
import type { NewSandboxOptions } from "../client/new-sandbox.ts";
import { describePort, parsePublished } from "../client/published-ports.ts";
import { expiringSandbox, Removal } from "../client/removal.ts";
import { SignalForwarder } from "../client/signals.ts";
import { parseDuration } from "../client/wait-condition.ts";
import { CommandError } from "../command-error.ts";

export interface CreateOptions extends GlobalOptions, NewSandboxOptions {
  readonly timeout: string;
}

/** Creates a sandbox that waits for commands, and waits until it is ready. */
export async function create(name: string, options: CreateOptions): Promise<void> {
  const timeoutMs = parseDuration(options.timeout);
  const ports = (options.publish ?? []).map(parsePublished);
  if (ports.some(({ local }) => local !== undefined)) {
    throw new CommandError(`"create" does not stay to forward a local port: write -p PORT, and use "port-forward"`);
  }
  await using signals = new SignalForwarder();
  await using connection = await connect(options);
  const created = await createSandbox(connection, { ...options, name });
  // A sandbox that does not start is deleted again.
  await using removal = new Removal(connection, expiringSandbox, created);
  await untilReady(connection, name, { timeoutMs, interrupted: signals.interrupted });
  removal.cancel();
  console.log(`${displayName(sandboxes, name)} ready`);
  for (const { port } of ports) console.error(describePort(connection, name, port));
}
