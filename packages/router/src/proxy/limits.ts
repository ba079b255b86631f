import { RouterError } from "../router-error.ts";

export interface Limits {
  /** Requests and connections at a time. 0: no limit. */
  readonly perSandbox: number;
  readonly perCaller: number;
  /** Upgraded and tunnelled connections at a time. 0: no limit. */
  readonly connectionsPerCaller: number;
}

/** Counts what is under way, and refuses what would be too much of it. */
export class LimitedUse {
  readonly #limits: Limits;
  readonly #sandboxes = new Map<string, number>();
  readonly #callers = new Map<string, number>();
  readonly #connections = new Map<string, number>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Throws when there is too much already. Disposing gives the place back. */
  enter(sandboxUid: string, callerId: string, { isLong }: { readonly isLong: boolean }): Disposable {
    const { perSandbox, perCaller, connectionsPerCaller } = this.#limits;
    if (isFull(this.#callers, callerId, perCaller)) {
      throw new RouterError("CallerLimit", `Too many concurrent requests (limit: ${perCaller}).`, {
        retryAfterSeconds: 1,
      });
    }
    if (isLong && isFull(this.#connections, callerId, connectionsPerCaller)) {
      throw new RouterError("CallerLimit", `Too many concurrent connections (limit: ${connectionsPerCaller}).`);
    }
    if (isFull(this.#sandboxes, sandboxUid, perSandbox)) {
      const message = `Too many concurrent requests for the sandbox (limit: ${perSandbox}).`;
      throw new RouterError("SandboxLimit", message, { retryAfterSeconds: 1 });
    }
    add(this.#callers, callerId, 1);
    add(this.#sandboxes, sandboxUid, 1);
    if (isLong) add(this.#connections, callerId, 1);
    return {
      [Symbol.dispose]: () => {
        add(this.#callers, callerId, -1);
        add(this.#sandboxes, sandboxUid, -1);
        if (isLong) add(this.#connections, callerId, -1);
      },
    };
  }
}

function isFull(counts: ReadonlyMap<string, number>, key: string, most: number): boolean {
  return most > 0 && (counts.get(key) ?? 0) >= most;
}

function add(counts: Map<string, number>, key: string, step: number): void {
  const count = (counts.get(key) ?? 0) + step;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
