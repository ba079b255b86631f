import { randomBytes } from "node:crypto";
import { type Sandbox, sandboxes, sandboxSnapshots } from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube/requests";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { findSandbox } from "../client/find-sandbox.ts";
import { expiringSandbox, Removal } from "../client/removal.ts";
import { SignalForwarder } from "../client/signals.ts";
import { parseDuration } from "../client/wait-condition.ts";
import { CommandError } from "../command-error.ts";
import { report, untilResumed } from "./resume.ts";
import { snapshotSpec, takeSnapshot } from "./snapshot.ts";

export interface ForkOptions extends GlobalOptions {
  readonly snapshot?: string;
  readonly timeout: string;
}

/** If the command is killed, its snapshot is deleted after this time. */
const ttl = "1h";

/** Creates Sandboxes that continue from the state of another one, or from one of its snapshots. */
export async function fork(named: string, names: readonly string[], options: ForkOptions): Promise<void> {
  const timeoutMs = parseDuration(options.timeout);
  await using signals = new SignalForwarder();
  const { interrupted } = signals;
  await using connection = await connect(options);
  const { namespace } = connection;
  const original = await findSandbox(connection, named);
  const source = original.metadata.name ?? named;
  // Deleted at the end: the forks have their own copy, unless they did not start; then they are deleted too.
  await using leftovers = new AsyncDisposableStack();
  let { snapshot } = options;
  if (snapshot === undefined) {
    snapshot = `${source}-fork-${randomBytes(4).toString("hex")}`;
    const taken = await takeSnapshot(connection, {
      name: snapshot,
      spec: snapshotSpec(source, { ttl }),
      timeoutMs,
      interrupted,
    });
    leftovers.use(new Removal(connection, { resource: sandboxSnapshots }, taken));
  }
  const created: { readonly name: string; readonly removal: Removal<Sandbox> }[] = [];
  for (const name of names) {
    const removal = await createFork(connection, forkOf(original, { name, namespace, snapshot }));
    leftovers.use(removal);
    created.push({ name, removal });
  }
  for (const { name, removal } of created) {
    const status = await untilResumed(connection, name, { timeoutMs, snapshot, signal: interrupted });
    removal.cancel();
    report(name, `forked from ${source}`, status);
  }
}

async function createFork(connection: Connection, fork: Sandbox): Promise<Removal<Sandbox>> {
  try {
    return new Removal(connection, expiringSandbox, await connection.client.create(sandboxes, fork));
  } catch (error) {
    if (!isReason(error, "AlreadyExists")) throw error;
    throw new CommandError(`sandbox "${fork.metadata.name}" already exists: choose another name for the fork`);
  }
}

/** A new Sandbox with the spec of another one. Its metadata, lifetime and operating mode are its own: labels may say who owns the source. */
export function forkOf(
  { apiVersion, kind, spec }: Sandbox,
  { name, namespace, snapshot }: { readonly name: string; readonly namespace: string; readonly snapshot: string },
): Sandbox {
  const { operatingMode: _mode, shutdownTime: _time, ...kept } = spec;
  const restoreFrom = { snapshotRef: { name: snapshot } };
  return { apiVersion, kind, metadata: { name, namespace }, spec: { ...kept, restoreFrom } };
}
