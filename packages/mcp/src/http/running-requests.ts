/**
 * Requests of clients of the older protocol that are being served. They cancel a request with a message of its own, which comes over
 * another connection; its session tells the clients of one user apart. A session is a random number and nothing else: no
 * request needs one, and none is lost with this process.
 */
export class RunningRequests {
  readonly #running = new Map<string, AbortController>();

  get size(): number {
    return this.#running.size;
  }

  /** Makes requests cancellable until the result is disposed. */
  add(place: SessionOf, ids: readonly RequestId[], controller: AbortController): Disposable {
    const keys = place.session === undefined ? [] : ids.map((id) => keyOf(place, id));
    for (const key of keys) this.#running.set(key, controller);
    return {
      [Symbol.dispose]: () => {
        // A client that repeats an id has replaced the entry.
        for (const key of keys) if (this.#running.get(key) === controller) this.#running.delete(key);
      },
    };
  }

  cancel(place: SessionOf, id: RequestId): void {
    if (place.session !== undefined)
      this.#running.get(keyOf(place, id))?.abort(new Error("the client cancelled the call"));
  }
}

export interface SessionOf {
  readonly user: string;
  /** Absent if the client sends none. Its requests then end only with their connections. */
  readonly session: string | undefined;
}

export type RequestId = string | number;

const keyOf = ({ user, session }: SessionOf, id: RequestId): string => JSON.stringify([user, session, id]);
