import type { Target } from "./runtime.ts";

const maxKept = 10_000;

/** The ports of sandboxes that answered when they were last used. */
export class OpenPorts {
  readonly #known = new Set<string>();

  has(target: Target, port: number): boolean {
    return this.#known.has(keyOf(target, port));
  }

  add(target: Target, port: number): void {
    if (this.#known.size >= maxKept) this.#known.clear();
    this.#known.add(keyOf(target, port));
  }

  forget(target: Target, port: number): void {
    this.#known.delete(keyOf(target, port));
  }
}

const keyOf = ({ uid }: Target, port: number): string => `${uid} ${port}`;
