import { type ApiObject, storeKey } from "../api-object.ts";

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

interface Known extends ObjectId {
  readonly owners: readonly string[];
  /** All that can make a difference to who is collected. */
  readonly fate: string;
}

/** Who exists, and who says they belong to whom: by UID, because names come back and UIDs do not. */
export class Ownership {
  readonly #objects = new Map<string, Known>();
  readonly #dependents = new Map<string, Set<string>>();
  #isComplete = false;

  /** Whether everything that is stored was added. Before that, a UID that is not found may still exist. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  complete(): void {
    this.#isComplete = true;
  }

  /** Whether it is news. Most changes of an object leave alone whom it belongs to and whether it is to go. */
  add(resource: string, object: ApiObject): boolean {
    const { namespace, name = "", uid = "" } = object.metadata;
    const fate = fateOf(object);
    const before = this.#objects.get(uid);
    if (before?.fate === fate) return false;
    if (before !== undefined) this.#remove(uid, before);
    const known = { resource, key: storeKey(namespace, name), owners: ownersOf(object), fate };
    this.#objects.set(uid, known);
    for (const owner of known.owners) {
      const dependents = this.#dependents.get(owner) ?? new Set();
      this.#dependents.set(owner, dependents.add(idText(known)));
    }
    return true;
  }

  remove(uid: string): void {
    const known = this.#objects.get(uid);
    if (known !== undefined) this.#remove(uid, known);
  }

  find(uid: string): ObjectId | undefined {
    return this.#objects.get(uid);
  }

  /**
   * Objects that name this UID as an owner and that the owner can have: those of its own namespace, or all when it is
   * cluster-scoped. A reference from another namespace is a mistake or forged, and counts for nothing.
   */
  dependents(uid: string, ownerKey: string): ObjectId[] {
    const slash = ownerKey.indexOf("/");
    const prefix = slash < 0 ? "" : ownerKey.slice(0, slash + 1);
    return [...(this.#dependents.get(uid) ?? [])].map(parseId).filter(({ key }) => key.startsWith(prefix));
  }

  #remove(uid: string, known: Known): void {
    this.#objects.delete(uid);
    const id = idText(known);
    for (const owner of known.owners) {
      const dependents = this.#dependents.get(owner);
      dependents?.delete(id);
      if (dependents?.size === 0) this.#dependents.delete(owner);
    }
  }
}

export function ownersOf({ metadata }: ApiObject): string[] {
  return (metadata.ownerReferences ?? []).map(({ uid }) => uid);
}

const noFate = "";

function fateOf(object: ApiObject): string {
  const { ownerReferences = [], deletionTimestamp, finalizers = [] } = object.metadata;
  if (ownerReferences.length === 0 && deletionTimestamp === undefined && finalizers.length === 0) return noFate;
  const owners = ownerReferences.map(({ uid, blockOwnerDeletion }) => `${uid} ${blockOwnerDeletion === true}`);
  return [deletionTimestamp ?? "", ...owners, "", ...finalizers].join("\n");
}
