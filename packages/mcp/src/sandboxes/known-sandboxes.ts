import type { KubeObject } from "@agent-sandbox/sdk/internal";
import type { Caller } from "../caller.ts";
import { controllerOf } from "./found-sandbox.ts";
import { isVisible } from "./list-sandboxes.ts";

export interface KnownOptions {
  readonly caller: Caller;
  /** Otherwise the objects are Sandboxes, of which those of a claim or pool do not count. */
  readonly isClaim: boolean;
  readonly onChange: () => void;
}

/** The objects of one kind that the caller's list has. Tells when the list becomes another one. */
export class KnownSandboxes {
  readonly #options: KnownOptions;
  #uids: Set<string> | undefined;

  constructor(options: KnownOptions) {
    this.#options = options;
  }

  /** After the first list, and after each gap between two watches. */
  replace(objects: readonly KubeObject[]): void {
    const before = this.#uids;
    const now = new Set(objects.filter((object) => this.#counts(object)).map(uidOf));
    this.#uids = now;
    if (before === undefined) return;
    const isSame = before.size === now.size && [...before].every((uid) => now.has(uid));
    if (!isSame) this.#options.onChange();
  }

  update(object: KubeObject, exists: boolean): void {
    this.#uids ??= new Set();
    const uid = uidOf(object);
    const counts = exists && this.#counts(object);
    if (counts === this.#uids.has(uid)) return;
    if (counts) this.#uids.add(uid);
    else this.#uids.delete(uid);
    this.#options.onChange();
  }

  #counts(object: KubeObject): boolean {
    const { caller, isClaim } = this.#options;
    return (isClaim || controllerOf(object) === undefined) && isVisible(object, caller);
  }
}

const uidOf = ({ metadata }: KubeObject): string => metadata.uid ?? "";
