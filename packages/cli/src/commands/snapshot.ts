import { type SandboxSnapshot, type SandboxSnapshotSpec, sandboxes, sandboxSnapshots } from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube/requests";
import { awaitObject } from "../client/await-object.ts";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { displayName } from "../client/discovery.ts";
import { findSandbox, flagOf, sandboxOfClaim } from "../client/find-sandbox.ts";
import { formatAge, formatBytes } from "../client/format-amounts.ts";
import { Progress } from "../client/progress.ts";
import { Removal } from "../client/removal.ts";
import { snapshotOutcome } from "../client/sandbox-state.ts";
import { SignalForwarder } from "../client/signals.ts";
import { formatTable } from "../client/table.ts";
import { parseDuration } from "../client/wait-condition.ts";
import { CommandError } from "../command-error.ts";
import { askToResume, report, untilResumed } from "./resume.ts";
import { askToSuspend, parseDepth, untilSuspended } from "./suspend.ts";

export interface CreateOptions extends GlobalOptions {
  readonly depth?: string;
  readonly excludeVolumes?: boolean;
  readonly ttl?: string;
  readonly retain?: boolean;
  readonly timeout: string;
}

export async function createSnapshot(named: string, name: string | undefined, options: CreateOptions): Promise<void> {
  const timeoutMs = parseDuration(options.timeout);
  await using signals = new SignalForwarder();
  await using connection = await connect(options);
  const sandbox = (await findSandbox(connection, named)).metadata.name ?? named;
  const spec = snapshotSpec(sandbox, options);
  const shown = name ?? snapshotName(sandbox, new Date());
  const taken = await takeSnapshot(connection, { name: shown, spec, timeoutMs, interrupted: signals.interrupted });
  console.log(`${displayName(sandboxSnapshots, taken.metadata.name ?? "")} created (${describeSnapshot(taken)})`);
}

/** The spec of a snapshot from the flags of a command. */
export function snapshotSpec(sandbox: string, options: Omit<CreateOptions, "timeout">): SandboxSnapshotSpec {
  const depth = options.depth === undefined ? undefined : parseDepth(options.depth);
  if (depth === "Volumes")
    throw new CommandError("Cannot use depth Volumes: a snapshot has depth Filesystem or Memory");
  const ttlMs = options.ttl === undefined ? undefined : parseDuration(options.ttl);
  if (ttlMs !== undefined && ttlMs < 1000) throw new CommandError("Cannot use a --ttl of less than a second");
  return {
    sandboxRef: { name: sandbox },
    ...(depth !== undefined && { depth }),
    ...(options.excludeVolumes === true && { volumes: "Exclude" }),
    ...(ttlMs !== undefined && { ttlSecondsAfterCreation: Math.floor(ttlMs / 1000) }),
    ...(options.retain === true && { deletionPolicy: "Retain" }),
  };
}

/** As in `web-20260905-143000`: sorted by name, snapshots of one Sandbox are in order. */
export function snapshotName(sandbox: string, now: Date): string {
  const [date = "", time = ""] = now.toISOString().replaceAll(/[-:]/g, "").split("T");
  return `${sandbox}-${date}-${time.slice(0, 6)}`;
}

export interface Taking {
  readonly name: string;
  readonly spec: SandboxSnapshotSpec;
  readonly timeoutMs: number;
  readonly interrupted: AbortSignal;
}

/** Creates a snapshot and waits until it is complete. It is deleted if it fails, or if the wait ends before. */
export async function takeSnapshot(
  connection: Connection,
  { name, spec, timeoutMs, interrupted: signal }: Taking,
): Promise<SandboxSnapshot> {
  const { client, namespace } = connection;
  const { apiVersion, kind } = sandboxSnapshots;
  const object = { apiVersion, kind, metadata: { name, namespace }, spec } as SandboxSnapshot;
  const created = await client.create(sandboxSnapshots, object).catch((error: unknown) => {
    if (!isReason(error, "NotFound")) throw error;
    throw new CommandError("the server has no SandboxSnapshots: only a box takes snapshots", { cause: error });
  });
  await using removal = new Removal(connection, { resource: sandboxSnapshots }, created);
  using progress = new Progress();
  const shown = `snapshot "${name}"`;
  const judge = snapshotOutcome;
  const wanted = { resource: sandboxSnapshots, name, shown, timeoutMs, progress, judge, signal };
  const status = await awaitObject(connection, wanted);
  removal.cancel();
  return { ...created, ...(status && { status }) };
}

/** As in `depth Memory, 64.2MiB, paused 41ms`. */
export function describeSnapshot({ status }: SandboxSnapshot): string {
  const { depth, sizeBytes, pauseMilliseconds } = status ?? {};
  const parts = [
    depth && `depth ${depth}`,
    sizeBytes !== undefined && formatBytes(sizeBytes),
    pauseMilliseconds !== undefined && `paused ${pauseMilliseconds}ms`,
  ];
  return parts.filter(Boolean).join(", ");
}

export interface ListOptions extends GlobalOptions {
  readonly allNamespaces?: boolean;
}

export async function listSnapshots(sandbox: string | undefined, options: ListOptions): Promise<void> {
  await using connection = await connect(options);
  const scope = options.allNamespaces === true ? {} : { namespace: connection.namespace };
  const { items } = await connection.client.list(sandboxSnapshots, scope);
  const held = sandbox === undefined ? undefined : await sandboxOfClaim(connection, sandbox);
  const shown = items.filter((one) => sandbox === undefined || [sandbox, held].includes(sourceOf(one)));
  if (shown.length === 0) console.error("No snapshots found");
  else console.log(snapshotTable(shown, Date.now(), options.allNamespaces === true));
}

function sourceOf({ spec, status }: SandboxSnapshot): string {
  return status?.sourceName ?? spec.sandboxRef?.name ?? "";
}

/** The oldest first. */
export function snapshotTable(snapshots: readonly SandboxSnapshot[], now: number, namespaces = false): string {
  const ageOf = ({ metadata }: SandboxSnapshot): number => now - Date.parse(metadata.creationTimestamp ?? "");
  const rows = snapshots
    .toSorted((a, b) => ageOf(b) - ageOf(a))
    .map((object) => {
      const { depth, sizeBytes } = object.status ?? {};
      const outcome = snapshotOutcome(object);
      const size = sizeBytes === undefined ? "" : formatBytes(sizeBytes);
      const state = { done: "Ready", failed: "Failed", waiting: "Pending" }[outcome.type];
      const cells = [object.metadata.name, sourceOf(object), depth ?? object.spec.depth, size, state];
      return { object, cells: [...cells, formatAge(ageOf(object))] };
    });
  const columns = ["Name", "Sandbox", "Depth", "Size", "State", "Age"];
  return formatTable({ columnDefinitions: columns.map((name) => ({ name })), rows }, { namespaces });
}

/** Reports missing snapshots after the others are deleted. */
export async function deleteSnapshots(names: readonly string[], options: GlobalOptions): Promise<void> {
  await using connection = await connect(options);
  const { client, namespace } = connection;
  const missing: string[] = [];
  for (const name of names) {
    try {
      await client.delete(sandboxSnapshots, { namespace, name });
      console.log(`${displayName(sandboxSnapshots, name)} deleted`);
    } catch (error) {
      if (!isReason(error, "NotFound")) throw error;
      missing.push(displayName(sandboxSnapshots, name));
    }
  }
  if (missing.length > 0) {
    const list = `agent-sandbox snapshot ls${flagOf(namespace)}`;
    throw new CommandError(`${missing.join(", ")} not found; list them with: ${list}`);
  }
}

export interface RestoreOptions extends GlobalOptions {
  readonly timeout: string;
}

/**
 * Rolls a Sandbox back to one of its snapshots: suspends it, and resumes it from the snapshot. A suspension without `restoreFrom` makes
 * the controller forget an earlier rollback to the same snapshot.
 */
export async function restoreSnapshot(named: string, snapshot: string, options: RestoreOptions): Promise<void> {
  const timeoutMs = parseDuration(options.timeout);
  await using signals = new SignalForwarder();
  const { interrupted } = signals;
  await using connection = await connect(options);
  const { client, namespace } = connection;
  const outcome = snapshotOutcome(await client.get(sandboxSnapshots, { namespace, name: snapshot }));
  if (outcome.type !== "done") throw new CommandError(`Cannot restore snapshot "${snapshot}": ${outcome.why}`);
  const before = await findSandbox(connection, named);
  const sandbox = before.metadata.name ?? named;
  if (before.spec.restoreFrom !== undefined) {
    const body = { spec: { restoreFrom: null } };
    await client.patch(sandboxes, { namespace, name: sandbox }, { type: "merge", body });
  }
  const asked = await askToSuspend(connection, sandbox, undefined);
  try {
    await untilSuspended(connection, sandbox, timeoutMs, interrupted);
  } catch (error) {
    // An interrupted rollback must not leave a sandbox suspended that was running.
    if (interrupted.aborted && before.spec.operatingMode !== "Suspended") await askToResume(connection, asked);
    throw error;
  }
  await askToResume(connection, asked, { restoreFrom: { snapshotRef: { name: snapshot } } });
  const status = await untilResumed(connection, sandbox, { timeoutMs, snapshot, signal: interrupted });
  report(sandbox, `restored from ${snapshot}`, status);
}
