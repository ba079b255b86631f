import type { OwnerReference } from "../kubernetes.ts";

export interface Owned {
  readonly metadata?: { readonly ownerReferences?: readonly OwnerReference[] };
}

export interface GroupKind {
  /** Empty for the core group. */
  readonly group: string;
  readonly kind: string;
}

/** The group of an `apiVersion`: empty for `v1`. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}

/** Compares group and kind. The version is ignored, because a reference keeps the version that it was created with. */
export function refersToKind(reference: OwnerReference, { group, kind }: GroupKind): boolean {
  return reference.kind === kind && groupOf(reference.apiVersion) === group;
}

/** The owner reference of the object's controller. */
export function controllerOf(object: Owned): OwnerReference | undefined {
  return object.metadata?.ownerReferences?.find((reference) => reference.controller === true);
}

/** Whether the object's controller has that UID. Ownership never depends on names, and an empty UID matches nothing. */
export function isControlledBy(object: Owned, uid: string | undefined): boolean {
  return uid !== undefined && uid !== "" && controllerOf(object)?.uid === uid;
}

/** The owner reference for `owner`, an object of the given type, as controller. Throws if the object has no UID yet. */
export function controllerReference(
  type: { readonly apiVersion: string; readonly kind: string },
  owner: { readonly metadata?: { readonly name?: string; readonly uid?: string } },
): OwnerReference {
  const { name, uid } = owner.metadata ?? {};
  if (!name || !uid) throw new Error(`Cannot refer to ${type.kind} "${name ?? ""}" as controller: it has no UID yet`);
  return { apiVersion: type.apiVersion, kind: type.kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** The references with the controller added. An error if there is another controller: an object has at most one. */
export function withController(
  references: readonly OwnerReference[] | undefined,
  controller: OwnerReference,
): { ownerReferences: OwnerReference[] } | { error: string } {
  const present = controllerOf({ metadata: { ownerReferences: references ?? [] } });
  if (present !== undefined && present.uid !== controller.uid) {
    const [wanted, holder] = [controller, present].map(({ kind, name, uid }) => `${kind} "${name}" (UID ${uid})`);
    return { error: `Cannot make ${wanted} the controller: ${holder} already is` };
  }
  const others = (references ?? []).filter((reference) => reference.uid !== controller.uid);
  return { ownerReferences: [...others, controller] };
}
