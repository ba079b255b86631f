import {
  findCondition,
  isConditionTrue,
  type Sandbox,
  type SandboxSnapshot,
  sandboxSnapshots,
} from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube";
import {
  annotationOf,
  faceLabel,
  sandboxSpecAnnotation,
  snapshotNameAnnotation,
  sourceLabel,
  templateAnnotation,
} from "../../cluster/compat-annotations.ts";
import { find } from "../../cluster/machine.ts";
import { isName, newName } from "../../cluster/names.ts";
import { requireBound } from "../../control/require-machine.ts";
import { textField } from "../../http/fields.ts";
import { readJsonObject } from "../../http/read-body.ts";
import { sendEmpty, sendJson } from "../../http/reply.ts";
import type { Account } from "../../keys/accounts.ts";
import { invalidParameter, OpenSandboxError } from "../failure.ts";
import { type LifecycleCall, maxLifecycleBytes } from "./context.ts";
import { sendPage } from "./list.ts";

const maxNameLength = 1000;
/** All annotations of an object may have 256 KiB. */
const maxSpecBytes = 200 * 1024;

/** `POST /v1/sandboxes/{id}/snapshots`. Answers at once; the client asks until the snapshot is ready. */
export async function takeSnapshot(call: LifecycleCall): Promise<void> {
  const title = textField(await readJsonObject(call.request, maxLifecycleBytes), "name");
  if (title !== undefined && title.length > maxNameLength) {
    throw invalidParameter(`name can have ${maxNameLength} characters`);
  }
  const { name, claim, sandbox } = await requireBound(call);
  const { client, namespace } = call.account;
  const snapshot = await client.create(sandboxSnapshots, {
    apiVersion: sandboxSnapshots.apiVersion as SandboxSnapshot["apiVersion"],
    kind: "SandboxSnapshot",
    metadata: {
      name: newName(),
      namespace,
      labels: { [faceLabel]: "opensandbox", [sourceLabel]: name },
      annotations: {
        ...(title !== undefined && { [snapshotNameAnnotation]: title }),
        ...(claim === undefined
          ? { [sandboxSpecAnnotation]: keptSpec(sandbox) }
          : { [templateAnnotation]: claim.spec.warmPoolRef.name }),
      },
    },
    spec: { sandboxRef: { name: sandbox.metadata.name ?? "" }, deletionPolicy: "Retain" },
  });
  sendJson(call.response, 202, snapshotJson(snapshot));
}

/** What a sandbox from the snapshot is made of. The first one may be gone by then. */
function keptSpec({ spec }: Sandbox): string {
  const { operatingMode: _mode, shutdownTime: _time, shutdownPolicy: _policy, restoreFrom: _from, ...kept } = spec;
  const text = JSON.stringify(kept);
  if (Buffer.byteLength(text) > maxSpecBytes) {
    throw invalidParameter(`A snapshot needs a sandbox whose spec has at most ${maxSpecBytes} bytes`);
  }
  return text;
}

/** `GET /v1/snapshots?sandboxId&name&state&page&pageSize` */
export async function listSnapshots({ account, query, response }: LifecycleCall): Promise<void> {
  const { client, namespace } = account;
  const { items } = await client.list(sandboxSnapshots, { namespace, labelSelector: `${faceLabel}=opensandbox` });
  const states = new Set(query.getAll("state").map((state) => state.toLowerCase()));
  const [source, title] = [query.get("sandboxId"), query.get("name")];
  const found = items
    .filter(({ metadata }) => source === null || metadata.labels?.[sourceLabel] === source)
    .filter((snapshot) => title === null || annotationOf(snapshot, snapshotNameAnnotation) === title)
    .filter((snapshot) => states.size === 0 || states.has(snapshotStatus(snapshot).state.toLowerCase()))
    .toSorted((a, b) => (keyOf(a) < keyOf(b) ? 1 : -1));
  sendPage({ query, response }, found, snapshotJson);
}

const keyOf = ({ metadata }: SandboxSnapshot): string => `${metadata.creationTimestamp ?? ""} ${metadata.name ?? ""}`;

/** `GET /v1/snapshots/{id}` */
export async function snapshotInfo({ account, params, response }: LifecycleCall): Promise<void> {
  sendJson(response, 200, snapshotJson(await findSnapshot(account, params[0] ?? "")));
}

/** `DELETE /v1/snapshots/{id}` */
export async function deleteSnapshot({ account, params, response }: LifecycleCall): Promise<void> {
  const { client, namespace } = account;
  const { metadata } = await findSnapshot(account, params[0] ?? "");
  const { name = "", uid = "" } = metadata;
  try {
    await client.delete(sandboxSnapshots, { namespace, name }, { preconditions: { uid } });
  } catch (error) {
    if (isReason(error, "NotFound", "Conflict")) throw notFound(name);
    throw error;
  }
  sendEmpty(response, 204);
}

/** A snapshot that a client of OpenSandbox took in the namespace. */
export async function findSnapshot({ client, namespace }: Account, name: string): Promise<SandboxSnapshot> {
  const found = isName(name) ? await find(client, sandboxSnapshots, { namespace, name }) : undefined;
  if (found === undefined || found.metadata.labels?.[faceLabel] !== "opensandbox") throw notFound(name);
  return found;
}

const notFound = (name: string): OpenSandboxError =>
  new OpenSandboxError(404, "SNAPSHOT::NOT_FOUND", `Snapshot ${name.slice(0, 64)} not found`);

interface SnapshotStatus {
  readonly state: "Creating" | "Ready" | "Failed" | "Deleting";
  readonly reason?: string;
  readonly message?: string;
}

export function snapshotStatus({ metadata, status }: SandboxSnapshot): SnapshotStatus {
  const failed = findCondition(status?.conditions, "Failed");
  if (metadata.deletionTimestamp !== undefined) return { state: "Deleting" };
  if (failed?.status === "True") return { state: "Failed", reason: failed.reason, message: failed.message };
  return { state: isConditionTrue(status?.conditions, "Ready") ? "Ready" : "Creating" };
}

function snapshotJson(snapshot: SandboxSnapshot): object {
  const { name = "", labels, creationTimestamp = "" } = snapshot.metadata;
  const title = annotationOf(snapshot, snapshotNameAnnotation);
  return {
    id: name,
    sandboxId: labels?.[sourceLabel] ?? "",
    status: snapshotStatus(snapshot),
    createdAt: creationTimestamp,
    ...(title !== undefined && { name: title }),
  };
}
