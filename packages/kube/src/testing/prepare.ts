import { KubeError } from "../errors.ts";
import { type KubeObject, objectKey } from "../resource.ts";
import type { ApiCall, ServedResource } from "./api-call.ts";
import { stableJson } from "./patches.ts";

interface Body extends KubeObject {
  readonly status?: unknown;
}

export interface NewObject {
  readonly uid: string;
  readonly creationTimestamp: string;
  /** Appended to `generateName`. */
  readonly suffix: string;
}

/** The object to store for a create: with metadata from the server, and without status if that is a subresource. */
export function prepareCreate({ resource, namespace, body }: ApiCall, fresh: NewObject): KubeObject {
  const given = asObject(body);
  const { generateName } = given.metadata ?? {};
  const name = given.metadata?.name ?? (generateName === undefined ? undefined : generateName + fresh.suffix);
  if (!name) throw new KubeError("Invalid", `${resource.kind} needs metadata.name or metadata.generateName`);
  if (resource.namespaced && (given.metadata?.namespace ?? namespace) !== namespace) {
    throw new KubeError("BadRequest", "the namespace of the object does not match the namespace of the request");
  }
  const metadata = {
    ...given.metadata,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    uid: fresh.uid,
    creationTimestamp: fresh.creationTimestamp,
    generation: 1,
  };
  const { status: _, ...withoutStatus } = given;
  return { ...(resource.status === true ? withoutStatus : given), metadata };
}

/** The object to store for an update or patch, or `old` itself if nothing changes. */
export function prepareUpdate(call: ApiCall, old: KubeObject, body: unknown): KubeObject {
  const given = asObject(body);
  const { resource, subresource } = call;
  refuseStale(resource, old, given);
  const wanted = subresource === "status" ? { ...old, status: given.status } : keepStatus(resource, old, given);
  const metadata = { ...wanted.metadata, ...serverFields(old) };
  const changed = stableJson(spec(resource, wanted)) !== stableJson(spec(resource, old));
  const generation = (old.metadata?.generation ?? 1) + (changed ? 1 : 0);
  const next = { ...wanted, metadata: { ...metadata, generation } };
  return stableJson(next) === stableJson(old) ? old : next;
}

/** Checks the preconditions of a delete, or the uid and version in the metadata of an update or patch. */
export function refuseStale(
  resource: ServedResource,
  old: KubeObject,
  wanted: { readonly metadata?: { readonly uid?: string; readonly resourceVersion?: string } | undefined },
): void {
  for (const field of ["uid", "resourceVersion"] as const) {
    const value = wanted.metadata?.[field];
    if (value === undefined || value === old.metadata?.[field]) continue;
    const found = old.metadata?.[field];
    throw new KubeError("Conflict", `${resource.kind} "${objectKey(old)}" has ${field} ${found}, not ${value}`);
  }
}

function keepStatus(resource: ServedResource, old: Body, given: Body): Body {
  if (resource.status !== true) return given;
  const { status: _, ...rest } = given;
  return old.status === undefined ? rest : { ...rest, status: old.status };
}

/** Metadata that clients cannot change. */
function serverFields({ metadata }: KubeObject): object {
  const { name, namespace, uid, creationTimestamp, deletionTimestamp, resourceVersion } = metadata ?? {};
  const fields = { name, namespace, uid, creationTimestamp, deletionTimestamp, resourceVersion };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** The fields that the generation counts: all except metadata, and status if that is a subresource. */
function spec(resource: ServedResource, object: Body): object {
  const { metadata: _, status, ...rest } = object;
  return resource.status === true ? rest : { ...rest, status };
}

function asObject(body: unknown): Body {
  if (typeof body === "object" && body !== null) return structuredClone(body);
  throw new KubeError("BadRequest", "the body is not an object");
}
