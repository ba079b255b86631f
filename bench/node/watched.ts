/** Waits for states of objects, as a watch shows them. */
import type { Informer, KubeObject } from "@agent-sandbox/kube";

const patienceMs = 60_000;

interface Wait<T> {
  readonly name: string;
  readonly until: (object: T | undefined) => boolean;
  readonly resolve: (atMs: number) => void;
}

export class Watched<T extends KubeObject> {
  readonly #cache: Informer<T>;
  readonly #namespace: string;
  readonly #waits = new Set<Wait<T>>();

  constructor(cache: Informer<T>, namespace: string) {
    this.#cache = cache;
    this.#namespace = namespace;
    cache.subscribe(() => this.#check());
  }

  /** Resolves with the time when the condition holds. */
  async until(name: string, until: Wait<T>["until"]): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const wait: Wait<T> = { name, until, resolve };
    this.#waits.add(wait);
    const timer = setTimeout(() => reject(new Error(this.#describe(name))), patienceMs);
    try {
      this.#check();
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waits.delete(wait);
    }
  }

  get(name: string): T | undefined {
    return this.#cache.get(`${this.#namespace}/${name}`);
  }

  #check(): void {
    const now = performance.now();
    for (const wait of this.#waits) {
      if (!wait.until(this.get(wait.name))) continue;
      this.#waits.delete(wait);
      wait.resolve(now);
    }
  }

  #describe(name: string): string {
    const { status } = (this.get(name) ?? {}) as { status?: unknown };
    return `Cannot measure: "${name}" did not get there in time; its status is ${JSON.stringify(status)}`;
  }
}
