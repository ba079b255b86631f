import { isReason } from "@agent-sandbox/kube";
import { metadataAnnotation } from "../../cluster/compat-annotations.ts";
import { patchClaim, patchSandbox } from "../../cluster/lifetime.ts";
import type { Machine } from "../../cluster/machine.ts";
import { labelsOf, type Metadata, metadataOf, metadataProblem } from "../../cluster/metadata.ts";
import { requireMachine } from "../../control/require-machine.ts";
import { type JsonObject, readJsonObject } from "../../http/read-body.ts";
import { sendJson } from "../../http/reply.ts";
import { invalidParameter } from "../failure.ts";
import { type LifecycleCall, maxLifecycleBytes } from "./context.ts";
import { sandboxJson } from "./sandbox-json.ts";

/** The status of a sandbox changes often, so another write between the read and the write of the metadata is likely. */
const attempts = 10;

/** `PATCH /v1/sandboxes/{id}/metadata`: sets pairs; null removes one. */
export async function patchMetadata(call: LifecycleCall): Promise<void> {
  const change = await readJsonObject(call.request, maxLifecycleBytes);
  for (let attempt = 1; ; attempt++) {
    const machine = await requireMachine(call);
    try {
      const written = await write(call, machine, { metadata: metadataWith(machine, change) });
      return sendJson(call.response, 200, sandboxJson(written));
    } catch (error) {
      if (attempt === attempts || !isReason(error, "Conflict")) throw error;
    }
  }
}

function metadataWith({ claim, sandbox }: Machine, change: JsonObject): object {
  const owner = claim ?? sandbox;
  const before = owner === undefined ? {} : metadataOf(owner);
  const after = changed(before, change);
  const removed = Object.fromEntries(Object.keys(labelsOf(before)).map((key) => [key, null]));
  return {
    annotations: { [metadataAnnotation]: JSON.stringify(after) },
    labels: { ...removed, ...labelsOf(after) },
    // Another change in the meantime would be lost.
    resourceVersion: owner?.metadata.resourceVersion,
  };
}

function changed(before: Metadata, change: JsonObject): Metadata {
  const entries = new Map(Object.entries(before));
  for (const [key, value] of Object.entries(change)) {
    if (value === null) entries.delete(key);
    else if (typeof value === "string") entries.set(key, value);
    else throw invalidParameter(`metadata[${JSON.stringify(key.slice(0, 64))}] must be a string or null`);
  }
  const after = Object.fromEntries(entries);
  const problem = metadataProblem(after);
  if (problem !== undefined) throw invalidParameter(problem);
  return after;
}

async function write({ account }: LifecycleCall, machine: Machine, body: object): Promise<Machine> {
  const { claim, sandbox } = machine;
  if (claim !== undefined) return { ...machine, claim: await patchClaim(account.client, claim, body) };
  if (sandbox !== undefined) return { ...machine, sandbox: await patchSandbox(account.client, sandbox, body) };
  return machine;
}
