import { type ApiObject, storeKey } from "../api-object.ts";
import type { Change } from "../store/store.ts";

/** Names one stored object among all resources. */
export interface ObjectId {
  readonly resource: string;
  readonly key: string;
}

export const idText = ({ resource, key }: ObjectId): string => `${resource}\n${key}`;

export function parseId(text: string): ObjectId {
  const end = text.indexOf("\n");
  return { resource: text.slice(0, end), key: text.slice(end + 1) };
}

/** Who exists, and who says they belong to whom: by UID, because names come back and UIDs do not. */
export class Ownership {
  readonly #objects = new Map<string, ObjectId>();
  readonly #dependents = new Map<string, Set<string>>();

  add(resource: string, object: ApiObject): void {
    const { namespace, name = "", uid = "" } = object.metadata;
    const id = { resource, key: storeKey(namespace, name) };
    this.#objects.set(uid, id);
    for (const owner of ownersOf(object)) {
      const known = this.#dependents.get(owner) ?? new Set();
      this.#dependents.set(owner, known.add(idText(id)));
    }
  }

  apply(resource: string, { stored, previous }: Change): void {
    if (previous !== undefined) this.#remove(resource, previous.object);
    if (stored !== undefined) this.add(resource, stored.object);
  }

  find(uid: string): ObjectId | undefined {
    return this.#objects.get(uid);
  }

  dependents(uid: string): ObjectId[] {
    return [...(this.#dependents.get(uid) ?? [])].map(parseId);
  }

  #remove(resource: string, object: ApiObject): void {
    const { namespace, name = "", uid = "" } = object.metadata;
    this.#objects.delete(uid);
    const id = idText({ resource, key: storeKey(namespace, name) });
    for (const owner of ownersOf(object)) {
      const known = this.#dependents.get(owner);
      known?.delete(id);
      if (known?.size === 0) this.#dependents.delete(owner);
    }
  }
}

export function ownersOf({ metadata }: ApiObject): string[] {
  return (metadata.ownerReferences ?? []).map(({ uid }) => uid);
}
