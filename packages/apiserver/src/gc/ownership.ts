import { type ApiObject, storeKey } from "../api-object.ts";

/** Identifies a stored object. */
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
  /** The parts of an object that affect garbage collection, as a comparable string. */
  readonly fate: string;
}

/** An index of existing objects and their owner references, by UID, because names can be reused. */
export class Ownership {
  readonly #objects = new Map<string, Known>();
  readonly #dependents = new Map<string, Set<string>>();
  #isComplete = false;

  /** Whether all stored objects were added. Before that, an object with an unknown UID may still exist. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  complete(): void {
    this.#isComplete = true;
  }

  /** Returns whether anything relevant changed. Most updates do not affect owners or deletion. */
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
   * Objects with an owner reference to this UID: those in the owner's namespace, or all when the owner is cluster-scoped.
   * References from another namespace are invalid and ignored.
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
