import { type Client, isReason, type KubeObject } from "@agent-sandbox/kube/requests";
import { forServer, type OperatorObject } from "./manifest.ts";
import { resourceOf } from "./resources.ts";

interface Workload extends KubeObject {
  readonly spec?: {
    readonly template?: { readonly spec?: { readonly containers?: readonly { readonly name: string }[] } };
  };
}

/** Applies an object. With `dryRun` the server validates it and stores nothing. */
export async function applyOne(
  client: Client,
  object: OperatorObject,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<"created" | "configured" | "unchanged"> {
  const resource = resourceOf(object);
  const options = { dryRun, fieldValidation: "Strict" } as const;
  const before = await client.get(resource, object.metadata).catch((error: unknown) => {
    if (isReason(error, "NotFound")) return undefined;
    throw error;
  });
  const body = withLastApplied(forServer(object));
  if (before !== undefined && hasOtherContainers(object, before)) {
    const { resourceVersion = "" } = before.metadata ?? {};
    await client.update(resource, { ...body, metadata: { ...body.metadata, resourceVersion } }, options);
    if (dryRun) return "configured";
  }
  const patch = { type: "apply", body, force: true } as const;
  const after = await client.patch(resource, object.metadata, patch, options);
  if (before === undefined) return "created";
  return before.metadata?.resourceVersion === after.metadata?.resourceVersion ? "unchanged" : "configured";
}

/**
 * `kubectl apply` without `--server-side` removes only fields that this annotation names. With it, the manifests of another
 * implementation can be applied over ours. Namespace and Deployment are the objects whose remaining fields could keep its Pods from
 * starting.
 */
function withLastApplied(object: KubeObject): KubeObject {
  if (object.kind !== "Namespace" && object.kind !== "Deployment") return object;
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": `${JSON.stringify(object)}\n` };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** A Deployment of the reference implementation has a container of another name, which server-side apply would keep beside ours. */
function hasOtherContainers(wanted: OperatorObject, live: KubeObject): boolean {
  if (wanted.kind !== "Deployment") return false;
  const namesOf = (object: KubeObject): string[] =>
    ((object as Workload).spec?.template?.spec?.containers ?? []).map(({ name }) => name);
  const ours = namesOf(wanted);
  return namesOf(live).some((name) => !ours.includes(name));
}
