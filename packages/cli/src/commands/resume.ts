import { activityChange, type Sandbox, type SuspensionStatus, sandboxes, sleepReason } from "@agent-sandbox/api";
import { awaitObject } from "../client/await-object.ts";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { displayName } from "../client/discovery.ts";
import { findSandbox } from "../client/find-sandbox.ts";
import { explainedBy, podTrouble } from "../client/pod-trouble.ts";
import { Progress } from "../client/progress.ts";
import { describeResume, resumeOutcome, shortfallOf } from "../client/sandbox-state.ts";
import { parseDuration } from "../client/wait-condition.ts";
import { CommandError } from "../command-error.ts";
import { parenthesized } from "./suspend.ts";

export interface ResumeOptions extends GlobalOptions {
  readonly timeout: string;
}

/** Resumes Sandboxes, whether their author suspended them or they were idle, and waits until they are ready. */
export async function resume(names: readonly string[], options: ResumeOptions): Promise<void> {
  const timeoutMs = parseDuration(options.timeout);
  await using connection = await connect(options);
  const found: Sandbox[] = [];
  for (const name of names) found.push(await findSandbox(connection, name));
  for (const sandbox of found) await askToResume(connection, sandbox);
  for (const sandbox of found) {
    const name = sandbox.metadata.name ?? "";
    const status = await untilResumed(connection, name, { timeoutMs });
    const isAwake = sleepReason(sandbox) === undefined && sandbox.spec.operatingMode !== "Suspended";
    report(name, isAwake ? "was not suspended" : "resumed", isAwake ? {} : status);
  }
}

/** Prints the result, and warns if less was restored than the policy wants. */
export function report(name: string, what: string, status: SuspensionStatus): void {
  console.log(`${displayName(sandboxes, name)} ${what}${parenthesized(describeResume(status))}`);
  const shortfall = shortfallOf(status);
  if (shortfall !== undefined) console.error(`Warning: its memory was not restored: ${shortfall}`);
}

/** Recorded activity wakes a Sandbox that was idle. It also keeps one that is resumed from being idle at once. */
export async function askToResume(
  { client, namespace }: Connection,
  sandbox: Sandbox,
  spec: object = {},
): Promise<Sandbox> {
  const { body, preconditions } = activityChange(sandbox, Date.now());
  const { name = "" } = sandbox.metadata;
  const change = { ...body, spec: { ...spec, operatingMode: "Running" } };
  return client.patch(sandboxes, { namespace, name }, { type: "merge", body: change, preconditions });
}

export async function untilResumed(
  connection: Connection,
  name: string,
  {
    timeoutMs,
    snapshot,
    signal,
  }: { readonly timeoutMs: number; readonly snapshot?: string; readonly signal?: AbortSignal },
): Promise<SuspensionStatus> {
  using progress = new Progress();
  try {
    return await awaitObject(connection, {
      resource: sandboxes,
      name,
      shown: `sandbox "${name}"`,
      timeoutMs,
      progress,
      judge: (sandbox) => resumeOutcome(sandbox, snapshot),
      ...(signal && { signal }),
    });
  } catch (error) {
    if (!(error instanceof CommandError) || signal?.aborted === true) throw error;
    const explained = explainedBy(error.message, await podTrouble(connection, name));
    throw new CommandError(explained, { cause: error, exitCode: error.exitCode });
  }
}
