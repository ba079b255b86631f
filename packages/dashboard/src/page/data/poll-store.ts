/** A list that cannot be watched, such as one of metrics.k8s.io: it is read again and again while somebody looks at it. */
import type { Access } from "./access.ts";
import { type ApiClient, ApiError } from "./api-client.ts";
import type { Snapshot } from "./list-store.ts";
import type { KubeObject, Resource } from "./resources.ts";

const everyMs = 5000;

export class PollStore<T extends KubeObject> {
  readonly #read: () => Promise<readonly T[]>;
  readonly #mayRead: () => Promise<boolean>;
  readonly #listeners = new Set<() => void>();
  #snapshot: Snapshot<T> = { items: [], state: "loading", since: Date.now() };
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReading = false;

  constructor(
    resource: Resource<T>,
    namespace: string | undefined,
    { api, access }: { readonly api: ApiClient; readonly access: Access },
  ) {
    this.#read = async () => (await api.list(resource, { namespace })).items;
    this.#mayRead = () => access.can("list", resource, { namespace });
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#timer === undefined && !this.#isReading) void this.#poll();
    return () => {
      this.#listeners.delete(listener);
    };
  };

  readonly snapshot = (): Snapshot<T> => this.#snapshot;

  readonly isIdle = (): boolean => this.#listeners.size === 0;

  async #poll(): Promise<void> {
    this.#isReading = true;
    this.#timer = undefined;
    try {
      // Browsers log every request that is refused as an error.
      if (this.#snapshot.state === "loading" && !(await this.#mayRead())) {
        return this.#enter({ ...this.#snapshot, state: "refused" });
      }
      if (document.visibilityState !== "hidden" || this.#snapshot.state === "loading") {
        this.#enter({ items: await this.#read(), state: "live", since: Date.now() });
      }
    } catch (error) {
      const failure = error instanceof ApiError ? error : undefined;
      const isRefused = failure !== undefined && [401, 403, 404].includes(failure.status);
      this.#enter({ ...this.#snapshot, state: isRefused ? "refused" : "stale", error: failure });
      if (isRefused) return;
    } finally {
      this.#isReading = false;
    }
    if (this.#listeners.size > 0) this.#timer = setTimeout(() => void this.#poll(), everyMs);
  }

  #enter(snapshot: Snapshot<T>): void {
    this.#snapshot = snapshot;
    for (const listener of this.#listeners) listener();
  }
}
