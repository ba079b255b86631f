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
  if (before !== undefined && hasOtherContainers(object, before)) {
    const { resourceVersion = "" } = before.metadata ?? {};
    const whole = { ...forServer(object), metadata: { ...object.metadata, resourceVersion } } as KubeObject;
    await client.update(resource, whole, options);
    if (dryRun) return "configured";
  }
  const patch = { type: "apply", body: forServer(object), force: true } as const;
  const after = await client.patch(resource, object.metadata, patch, options);
  if (before === undefined) return "created";
  return before.metadata?.resourceVersion === after.metadata?.resourceVersion ? "unchanged" : "configured";
}

/** A Deployment of the reference implementation has a container of another name, which server-side apply would keep beside ours. */
function hasOtherContainers(wanted: OperatorObject, live: KubeObject): boolean {
  if (wanted.kind !== "Deployment") return false;
  const namesOf = (object: KubeObject): string[] =>
    ((object as Workload).spec?.template?.spec?.containers ?? []).map(({ name }) => name);
  const ours = namesOf(wanted);
  return namesOf(live).some((name) => !ours.includes(name));
}
