import { FairShare } from "@agent-sandbox/kube";
import { RouterError } from "../router-error.ts";

export interface Limits {
  /** Concurrent requests and connections. 0: no limit. */
  readonly perSandbox: number;
  readonly perCaller: number;
  /** Concurrent upgraded and tunnelled connections. 0: no limit. */
  readonly connectionsPerCaller: number;
  /** Concurrent requests and connections in total, shared fairly by the namespaces of the sandboxes. 0: no limit. */
  readonly total: number;
}

/** The keys that a request is counted by. */
export interface CountedRequest {
  readonly namespace: string;
  readonly sandbox: string;
  readonly caller: string;
  /** An upgraded or tunnelled connection. */
  readonly isLong: boolean;
}

interface Count {
  readonly key: string;
  value: number;
}

/** Limits the number of concurrent requests per sandbox, per caller and per namespace. */
export class ConcurrencyLimits {
  readonly #limits: Limits;
  readonly #sandboxes = new Map<string, Count>();
  readonly #callers = new Map<string, Count>();
  readonly #connections = new Map<string, Count>();
  readonly #namespaces: FairShare;

  constructor(limits: Limits) {
    this.#limits = limits;
    this.#namespaces = new FairShare(limits.total);
  }

  /** Counts the request until the result is disposed. Throws if a limit is reached. */
  acquire({ namespace, sandbox: sandboxUid, caller: callerId, isLong }: CountedRequest): Disposable {
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
    const counted = {
      caller: increment(this.#callers, caller, callerId),
      sandbox: increment(this.#sandboxes, sandbox, sandboxUid),
      connections: isLong ? increment(this.#connections, connections, callerId) : undefined,
    };
    return {
      [Symbol.dispose]: () => {
        this.#namespaces.giveBack(namespace);
        decrement(this.#callers, counted.caller);
        decrement(this.#sandboxes, counted.sandbox);
        if (counted.connections !== undefined) decrement(this.#connections, counted.connections);
      },
    };
  }
}

function isFull(count: Count | undefined, max: number): boolean {
  return max > 0 && count !== undefined && count.value >= max;
}

function increment(counts: Map<string, Count>, known: Count | undefined, key: string): Count {
  const count = known ?? { key, value: 0 };
  if (known === undefined) counts.set(key, count);
  count.value += 1;
  return count;
}

function decrement(counts: Map<string, Count>, count: Count): void {
  count.value -= 1;
  if (count.value === 0) counts.delete(count.key);
}
