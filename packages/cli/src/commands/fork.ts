import { randomBytes } from "node:crypto";
import { type Sandbox, sandboxes, sandboxSnapshots } from "@agent-sandbox/api";
import { connect, type GlobalOptions } from "../client/connect.ts";
import { findSandbox } from "../client/find-sandbox.ts";
import { parseDuration } from "../client/wait-condition.ts";
import { report, untilResumed } from "./resume.ts";
import { snapshotSpec, takeSnapshot } from "./snapshot.ts";

export interface ForkOptions extends GlobalOptions {
  readonly snapshot?: string;
  readonly timeout: string;
}

/** If the command ends early, its snapshot goes after this time. */
const ttl = "1h";

/** Creates Sandboxes that continue from the state of another one, or from one of its snapshots. */
export async function fork(named: string, names: readonly string[], options: ForkOptions): Promise<void> {
  const timeoutMs = parseDuration(options.timeout);
  await using connection = await connect(options);
  const { client, namespace } = connection;
  const original = await findSandbox(connection, named);
  const source = original.metadata.name ?? named;
  const own = options.snapshot === undefined ? `${source}-fork-${randomBytes(4).toString("hex")}` : undefined;
  if (own !== undefined) await takeSnapshot(connection, { name: own, spec: snapshotSpec(source, { ttl }), timeoutMs });
  const snapshot = options.snapshot ?? own ?? "";
  for (const name of names) await client.create(sandboxes, forkOf(original, { name, namespace, snapshot }));
  for (const name of names) {
    report(name, `forked from ${source}`, await untilResumed(connection, name, { timeoutMs, snapshot }));
  }
  // The forks have their own copy.
  if (own !== undefined) await client.delete(sandboxSnapshots, { namespace, name: own });
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
