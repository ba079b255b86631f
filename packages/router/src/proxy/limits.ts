import { FairShare } from "../fair-share.ts";
import { RouterError } from "../router-error.ts";

export interface Limits {
  /** Requests and connections at a time. 0: no limit. */
  readonly perSandbox: number;
  readonly perCaller: number;
  /** Upgraded and tunnelled connections at a time. 0: no limit. */
  readonly connectionsPerCaller: number;
  /** Requests and connections at a time, shared by the namespaces of their sandboxes. 0: no limit. */
  readonly inAll: number;
}

/** What a request is counted under. */
export interface Use {
  readonly namespace: string;
  readonly sandbox: string;
  readonly caller: string;
  /** Upgraded and tunnelled connections. */
  readonly isLong: boolean;
}

/** How many are under way for one key. */
interface Count {
  readonly key: string;
  value: number;
}

/** Counts what is under way, and refuses what would be too much of it. */
export class LimitedUse {
  readonly #limits: Limits;
  readonly #sandboxes = new Map<string, Count>();
  readonly #callers = new Map<string, Count>();
  readonly #connections = new Map<string, Count>();
  readonly #namespaces: FairShare;

  constructor(limits: Limits) {
    this.#limits = limits;
    this.#namespaces = new FairShare(limits.inAll);
  }

  /** Throws when there is too much already. Disposing gives the place back. */
  enter({ namespace, sandbox: sandboxUid, caller: callerId, isLong }: Use): Disposable {
    const { perSandbox, perCaller, connectionsPerCaller } = this.#limits;
    const caller = this.#callers.get(callerId);
    if (isFull(caller, perCaller)) {
      throw new RouterError("CallerLimit", `Too many concurrent requests (limit: ${perCaller}).`, {
        retryAfterSeconds: 1,
      });
    }
    const connections = isLong ? this.#connections.get(callerId) : undefined;
    if (isFull(connections, connectionsPerCaller)) {
      throw new RouterError("CallerLimit", `Too many concurrent connections (limit: ${connectionsPerCaller}).`);
    }
    const sandbox = this.#sandboxes.get(sandboxUid);
    if (isFull(sandbox, perSandbox)) {
      const message = `Too many concurrent requests for the sandbox (limit: ${perSandbox}).`;
      throw new RouterError("SandboxLimit", message, { retryAfterSeconds: 1 });
    }
    if (!this.#namespaces.take(namespace)) {
      const message = "Too many concurrent requests for the sandboxes of the namespace.";
      throw new RouterError("SandboxLimit", message, { retryAfterSeconds: 1 });
    }
    const entered = {
      caller: enter(this.#callers, caller, callerId),
      sandbox: enter(this.#sandboxes, sandbox, sandboxUid),
      connections: isLong ? enter(this.#connections, connections, callerId) : undefined,
    };
    return {
      [Symbol.dispose]: () => {
        this.#namespaces.giveBack(namespace);
        leave(this.#callers, entered.caller);
        leave(this.#sandboxes, entered.sandbox);
        if (entered.connections !== undefined) leave(this.#connections, entered.connections);
      },
    };
  }
}

function isFull(count: Count | undefined, most: number): boolean {
  return most > 0 && count !== undefined && count.value >= most;
}

function enter(counts: Map<string, Count>, known: Count | undefined, key: string): Count {
  const count = known ?? { key, value: 0 };
  if (known === undefined) counts.set(key, count);
  count.value += 1;
  return count;
}

function leave(counts: Map<string, Count>, count: Count): void {
  count.value -= 1;
  if (count.value === 0) counts.delete(count.key);
}
