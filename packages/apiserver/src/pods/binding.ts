import type { Status } from "@agent-sandbox/api";
import { badRequest, conflict, type FieldError, invalid } from "../api-error.ts";
import { type ApiObject, isJsonObject, type JsonObject, objectsAt, stringAt, withMetadata } from "../api-object.ts";
import { timestamp } from "../clock.ts";
import type { ObjectReply } from "../request/api-request.ts";
import { objectReply, type ReplyContext } from "../request/replies.ts";
import { keyOfTarget, type ObjectTarget } from "../request/target.ts";
import { withRevision } from "../resources/admission.ts";
import { notSupported, required } from "../resources/field-problems.ts";
import { uidConflict } from "../verbs/modify.ts";
import { parseWriteOptions } from "../verbs/write-options.ts";
import { existingPod } from "./existing-pod.ts";

/** Answers `pods/{name}/binding`, with which a scheduler assigns a Pod to a node. A Pod can be bound once. */
export async function bind({ context, query, request }: ReplyContext, target: ObjectTarget): Promise<ObjectReply> {
  const binding = readBinding(request.body, target);
  const { dryRun } = parseWriteOptions(query, request);
  const key = keyOfTarget(target);
  await context.store.write((view, revision) => {
    const pod = existingPod(view.get("pods", key)?.object, target.name);
    const bound = bindPod(pod, binding, context.clock.now());
    if (dryRun) return { result: undefined };
    return { write: { resource: "pods", key, object: withRevision(bound, revision) }, result: undefined };
  });
  const done: Status = { apiVersion: "v1", kind: "Status", metadata: {}, status: "Success", code: 201 };
  return objectReply(201, done);
}

function readBinding(body: unknown, { name }: ObjectTarget): JsonObject {
  if (!isJsonObject(body) || (body["kind"] ?? "Binding") !== "Binding") {
    throw badRequest("the body of the request must be a Binding");
  }
  if (stringAt(body, "metadata", "name") !== name) {
    throw badRequest("name in URL does not match name in Binding object");
  }
  const problems = targetProblems(body["target"]);
  if (problems.length > 0) throw invalid("Binding", { group: "", plural: "bindings", name }, problems);
  return body;
}

function targetProblems(target: unknown): FieldError[] {
  const kind = stringAt(target, "kind") ?? "";
  return [
    ...(kind === "" || kind === "Node" ? [] : [notSupported("target.kind", kind, ["Node", "<empty>"])]),
    ...((stringAt(target, "name") ?? "") === "" ? [required("target.name")] : []),
  ];
}

function bindPod(pod: ApiObject, binding: JsonObject, nowMs: number): ApiObject {
  const { name = "", uid, deletionTimestamp } = pod.metadata;
  const wanted = stringAt(binding, "metadata", "uid") ?? "";
  if (wanted !== "" && wanted !== uid) throw uidConflict({ group: "", plural: "pods", name }, wanted, uid);
  const refuse = (why: string): Error => conflict({ group: "", plural: "pods/binding", name }, `pod ${name} ${why}`);
  const node = stringAt(pod, "spec", "nodeName") ?? "";
  if (deletionTimestamp !== undefined) throw refuse("is being deleted, cannot be assigned to a host");
  if (node !== "") throw refuse(`is already assigned to node "${node}"`);
  if (objectsAt(pod, "spec", "schedulingGates").length > 0) throw refuse("has non-empty .spec.schedulingGates");
  return scheduled(pod, binding, nowMs);
}

/** The Pod after a binding: assigned to the target node, with the condition `PodScheduled`. */
export function scheduled(pod: ApiObject, binding: JsonObject, nowMs: number): ApiObject {
  const spec = isJsonObject(pod["spec"]) ? pod["spec"] : {};
  const condition = {
    type: "PodScheduled",
    status: "True",
    lastProbeTime: null,
    lastTransitionTime: timestamp(nowMs),
  };
  const annotations = stringsAt(binding, "annotations");
  const labels = stringsAt(binding, "labels");
  const marked = withMetadata(withCondition(pod, condition), {
    ...(annotations === undefined ? {} : { annotations: { ...pod.metadata.annotations, ...annotations } }),
    ...(labels === undefined ? {} : { labels: { ...pod.metadata.labels, ...labels } }),
  });
  return { ...marked, spec: { ...spec, nodeName: stringAt(binding, "target", "name") } };
}

/** The Pod with this condition instead of an earlier one of its type. */
export function withCondition(pod: ApiObject, condition: JsonObject): ApiObject {
  const status = isJsonObject(pod["status"]) ? pod["status"] : {};
  const others = objectsAt(status, "conditions").filter(({ type }) => type !== condition["type"]);
  return { ...pod, status: { ...status, conditions: [...others, condition] } };
}

function stringsAt(binding: JsonObject, key: "annotations" | "labels"): Record<string, string> | undefined {
  const metadata = isJsonObject(binding["metadata"]) ? binding["metadata"] : {};
  const map = metadata[key];
  if (!isJsonObject(map)) return undefined;
  const texts = Object.entries(map).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return Object.fromEntries(texts);
}
