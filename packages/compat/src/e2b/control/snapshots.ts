import { findCondition, type Sandbox, type SandboxSnapshot, sandboxSnapshots } from "@agent-sandbox/api";
import { faceLabel, sourceLabel, templateAnnotation } from "../../cluster/compat-annotations.ts";
import type { Machine } from "../../cluster/machine.ts";
import { newName } from "../../cluster/names.ts";
import { requireBound } from "../../control/require-machine.ts";
import { flagField, textField } from "../../http/fields.ts";
import { badRequest, HttpError } from "../../http/http-error.ts";
import { readJsonObject } from "../../http/read-body.ts";
import { sendJson } from "../../http/reply.ts";
import type { Account } from "../../keys/accounts.ts";
import { type ControlCall, maxControlBytes } from "./context.ts";
import { answerWithinMs } from "./create.ts";
import { formatCursor, parseCursor } from "./page-cursor.ts";
import { templateOf } from "./sandbox-json.ts";

const nameRefusal = "name is not supported: use the id of the snapshot";

/** `POST /sandboxes/{id}/snapshots` */
export async function takeSnapshot(call: ControlCall): Promise<void> {
  const body = await readJsonObject(call.request, maxControlBytes);
  if (textField(body, "name") !== undefined) throw badRequest(nameRefusal);
  const depth = (flagField(body, "memory") ?? true) ? "Memory" : "Filesystem";
  const machine = await requireBound(call);
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(answerWithinMs)]);
  const snapshot = await createSnapshot(call.account, machine, { depth, signal });
  sendJson(call.response, 201, { snapshotID: snapshot, names: [] });
}

export interface SnapshotOptions {
  readonly depth: "Memory" | "Filesystem";
  /** Deletes the snapshot after this time, in case this server ends before it does. */
  readonly ttlSeconds?: number;
  readonly signal: AbortSignal;
}

/** Returns the name of a snapshot that is complete. */
export async function createSnapshot(
  { client, namespace }: Account,
  machine: Machine & { readonly sandbox: Sandbox },
  { depth, ttlSeconds, signal }: SnapshotOptions,
): Promise<string> {
  const name = newName();
  const snapshot = await client.create(sandboxSnapshots, {
    apiVersion: sandboxSnapshots.apiVersion as SandboxSnapshot["apiVersion"],
    kind: "SandboxSnapshot",
    metadata: {
      name,
      namespace,
      labels: { [faceLabel]: "e2b", [sourceLabel]: machine.name },
      annotations: { [templateAnnotation]: machine.claim?.spec.warmPoolRef.name ?? templateOf(machine) },
    },
    spec: {
      sandboxRef: { name: machine.sandbox.metadata.name ?? "" },
      depth,
      deletionPolicy: "Retain",
      ...(ttlSeconds !== undefined && { ttlSecondsAfterCreation: ttlSeconds }),
    },
  });
  try {
    await untilComplete({ client, namespace }, snapshot, signal);
  } catch (error) {
    await client.delete(sandboxSnapshots, { namespace, name }).catch(() => undefined);
    throw error;
  }
  return name;
}

async function untilComplete(
  { client, namespace }: Pick<Account, "client" | "namespace">,
  { metadata }: SandboxSnapshot,
  signal: AbortSignal,
): Promise<void> {
  const { name = "" } = metadata;
  const watch = await client.watch(sandboxSnapshots, {
    namespace,
    fieldSelector: `metadata.name=${name}`,
    resourceVersion: metadata.resourceVersion ?? "",
    signal,
  });
  for await (const events of watch) {
    for (const { object, type } of events) {
      if (type === "BOOKMARK" || type === "ERROR") continue;
      const failed = findCondition(object.status?.conditions, "Failed");
      if (failed?.status === "True" || type === "DELETED") {
        throw new HttpError(500, `The snapshot could not be taken: ${failed?.message ?? "it was deleted"}`, {
          headers: { "should-retry": "false" },
        });
      }
      if (findCondition(object.status?.conditions, "Ready")?.status === "True") return;
    }
  }
  throw new HttpError(503, "The snapshot was not complete in time");
}

const maxLimit = 100;

/** `GET /snapshots?sandboxID&limit&nextToken`. `name` is refused. */
export async function listSnapshots({ account, query, response }: ControlCall): Promise<void> {
  const { client, namespace } = account;
  // Snapshots have no names here.
  if (query.has("name")) throw badRequest(nameRefusal);
  const source = query.get("sandboxID");
  const limit = Math.min(maxLimit, Number(query.get("limit") ?? maxLimit) || maxLimit);
  const token = query.get("nextToken") ?? "";
  const after = token === "" ? "" : parseCursor(token).name;
  const { items } = await client.list(sandboxSnapshots, { namespace, labelSelector: `${faceLabel}=e2b` });
  const names = items
    .filter(({ metadata }) => source === null || metadata.labels?.[sourceLabel] === source)
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .filter(({ status }) => findCondition(status?.conditions, "Ready")?.status === "True")
    .map(({ metadata }) => metadata.name ?? "")
    .toSorted()
    .filter((name) => name > after);
  const last = names[limit - 1];
  const more = names.length > limit && last !== undefined;
  const headers = more ? { "x-next-token": formatCursor({ startedMs: 0, name: last }) } : {};
  const page = names.slice(0, limit).map((name) => ({ snapshotID: name, names: [] }));
  sendJson(response, 200, page, headers);
}
