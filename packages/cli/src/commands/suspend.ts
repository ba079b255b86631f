import { type Sandbox, type SuspendDepth, type SuspensionStatus, sandboxes } from "@agent-sandbox/api";
import { awaitObject } from "../client/await-object.ts";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { displayName } from "../client/discovery.ts";
import { findSandbox } from "../client/find-sandbox.ts";
import { Progress } from "../client/progress.ts";
import { describeSuspension, shortfallOf, suspensionOutcome } from "../client/sandbox-state.ts";
import { parseDuration } from "../client/wait-condition.ts";
import { CommandError } from "../command-error.ts";

export interface SuspendOptions extends GlobalOptions {
  readonly depth?: string;
  readonly timeout: string;
}

/** Suspends Sandboxes and waits until their Pods are gone. */
export async function suspend(names: readonly string[], options: SuspendOptions): Promise<void> {
  const timeoutMs = parseDuration(options.timeout);
  const depth = options.depth === undefined ? undefined : parseDepth(options.depth);
  await using connection = await connect(options);
  const sandboxNames: string[] = [];
  for (const name of names) sandboxNames.push((await findSandbox(connection, name)).metadata.name ?? name);
  // All are asked first, so that they are saved at the same time.
  for (const name of sandboxNames) await askToSuspend(connection, name, depth);
  for (const name of sandboxNames) {
    const kept = await untilSuspended(connection, name, timeoutMs);
    console.log(`${displayName(sandboxes, name)} suspended${parenthesized(describeSuspension(kept))}`);
    const shortfall = shortfallOf(kept);
    if (shortfall !== undefined) console.error(`Warning: its memory was not kept: ${shortfall}`);
  }
}

const depths: readonly SuspendDepth[] = ["Volumes", "Filesystem", "Memory"];

export function parseDepth(text: string): SuspendDepth {
  const found = depths.find((one) => one.toLowerCase() === text.toLowerCase());
  if (found === undefined) throw new CommandError(`Cannot use depth "${text}": write ${depths.join(", ")}`);
  return found;
}

export async function askToSuspend(
  { client, namespace }: Connection,
  name: string,
  depth: SuspendDepth | undefined,
): Promise<Sandbox> {
  const body = { spec: { operatingMode: "Suspended", ...(depth !== undefined && { suspendPolicy: { depth } }) } };
  return client.patch(sandboxes, { namespace, name }, { type: "merge", body });
}

export async function untilSuspended(
  connection: Connection,
  name: string,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<SuspensionStatus> {
  using progress = new Progress();
  const shown = `sandbox "${name}"`;
  return await awaitObject(connection, {
    resource: sandboxes,
    name,
    shown,
    timeoutMs,
    progress,
    judge: suspensionOutcome,
    ...(signal && { signal }),
  });
}

export function parenthesized(text: string): string {
  return text === "" ? "" : ` (${text})`;
}
