import type { OwnerReference } from "@agent-sandbox/api";
import { forbidden } from "../api-error.ts";
import { type ApiObject, storeKey } from "../api-object.ts";
import { type Identity, isSuperuser } from "../auth/identity.ts";
import type { Ownership } from "../gc/ownership.ts";
import type { ResourceDefinition } from "../resources/definition.ts";
import type { Registry } from "../resources/registry.ts";
import type { Store } from "../store/store.ts";
import type { ResourceAttributes } from "./attributes.ts";
import type { Authorizer } from "./authorizer.ts";

export interface OwnerCheck {
  readonly authorizer: Authorizer;
  readonly registry: Registry;
  readonly store: Store;
  readonly ownership: Ownership;
  readonly identity: Identity;
  /** The write request. */
  readonly attributes: ResourceAttributes;
}

interface Owner {
  readonly definition: ResourceDefinition;
  readonly namespace: string;
  readonly name: string;
}

/** The controllers, the node and the router trust controller references to kinds of these groups. */
const trustedGroups = new Set(["agents.x-k8s.io", "extensions.agents.x-k8s.io", "snapshots.agents.x-k8s.io"]);

/**
 * Throws `Forbidden` for owner references that need permission to `update` the owner's `finalizers`: `controller` for an owner of
 * our kinds, whose controllers would adopt, count, route to or delete the object, and `blockOwnerDeletion` for a cluster-scoped
 * owner, whose deletion the object would block. The owner is found by its UID, because kind and name in a reference are not
 * verified. References that the stored object already has are not checked.
 */
export function refuseOwners(check: OwnerCheck, object: ApiObject, old: ApiObject | undefined): void {
  const { ownerReferences = [] } = object.metadata;
  if (ownerReferences.length === 0 || isSuperuser(check.identity)) return;
  for (const reference of ownerReferences) {
    if (reference.controller !== true && reference.blockOwnerDeletion !== true) continue;
    if (hasSame(old, reference)) continue;
    refuseOwner(check, object, reference);
  }
}

function refuseOwner(check: OwnerCheck, object: ApiObject, reference: OwnerReference): void {
  const owner = findOwner(check, reference);
  if (owner === undefined) return;
  const { authorizer, identity, attributes } = check;
  const { definition, namespace, name } = owner;
  const [version] = definition.versions;
  const wanted: ResourceAttributes = {
    kind: "resource",
    verb: "update",
    group: version.group,
    version: version.version,
    namespace,
    resource: definition.plural,
    subresource: "finalizers",
    name,
  };
  if (authorizer.decide(identity, wanted).allowed) return;
  const field = definition.namespaced ? "controller" : "blockOwnerDeletion";
  throw forbidden(
    { group: attributes.group, plural: attributes.resource, name: object.metadata.name ?? "" },
    `cannot set ${field} if an ownerReference refers to a resource you can't set finalizers on: ${definition.kind} "${storeKey(namespace || undefined, name)}"`,
  );
}

/** The object with the UID of a reference, if the reference needs permission on it. */
function findOwner(check: OwnerCheck, { uid, controller, blockOwnerDeletion }: OwnerReference): Owner | undefined {
  const { registry, store, ownership } = check;
  const isSensitive = (definition: ResourceDefinition): boolean =>
    definition.namespaced
      ? controller === true && trustedGroups.has(definition.versions[0].group)
      : blockOwnerDeletion === true;
  if (!ownership.isComplete) return scan(registry.definitions.filter(isSensitive), store, uid);
  const id = ownership.find(uid);
  const definition = id && registry.get(id.resource);
  if (id === undefined || definition === undefined || !isSensitive(definition)) return undefined;
  const slash = id.key.indexOf("/");
  return { definition, namespace: id.key.slice(0, Math.max(slash, 0)), name: id.key.slice(slash + 1) };
}

/** Finds an owner in the first seconds after a start, before all UIDs are indexed. Searching the JSON avoids parsing it. */
function scan(definitions: readonly ResourceDefinition[], store: Store, uid: string): Owner | undefined {
  for (const definition of definitions) {
    for (const stored of store.list(definition.id)) {
      if (!stored.json.includes(uid)) continue;
      const { metadata } = stored.object;
      if (metadata.uid === uid) return { definition, namespace: metadata.namespace ?? "", name: metadata.name ?? "" };
    }
  }
  return undefined;
}

function hasSame(old: ApiObject | undefined, { uid, controller, blockOwnerDeletion }: OwnerReference): boolean {
  return (old?.metadata.ownerReferences ?? []).some(
    (known) =>
      known.uid === uid &&
      (known.controller === true || controller !== true) &&
      (known.blockOwnerDeletion === true || blockOwnerDeletion !== true),
  );
}
