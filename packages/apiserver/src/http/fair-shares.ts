import { ApiError } from "../api-error.ts";
import { type Identity, isSuperuser, nodesGroup, parseAccountUser } from "../auth/identity.ts";

/** How much one user may have in progress at the same time. */
export interface ShareLimits {
  /** Requests of one user that are read, handled or answered at the same time. Default: 16. */
  readonly requests: number;
  /** Requests waiting for one of those to end. Default: 500. */
  readonly waiting: number;
  /** Open watches of one user. Default: 250. */
  readonly watches: number;
  /** Sessions with Pods, proxied requests and logs of one user. Default: 100. */
  readonly streams: number;
}

export const defaultShares: ShareLimits = { requests: 16, waiting: 500, watches: 250, streams: 100 };

/**
 * The flow that a request counts for. All service accounts of a namespace share one, because a tenant can create any number of
 * them. Administrators and the box's own components have none and are not limited.
 */
export function flowOf(identity: Identity): string | undefined {
  if (isSuperuser(identity) || identity.groups.includes(nodesGroup)) return undefined;
  const account = parseAccountUser(identity.user);
  if (account === undefined) return `user ${identity.user}`;
  return account.namespace === "agent-sandbox-system" ? undefined : `accounts ${account.namespace}`;
}

/** The seat of one request in its flow. */
export interface Seat {
  /** Waits until no other request of the same flow was started in this turn of the event loop. */
  turn(): Promise<void> | undefined;
  /** Waits until no other request of the same flow sends a large response. */
  alone(): Promise<void> | undefined;
  /** Exchanges the seat for one of the watches or streams. Throws `TooManyRequests` when there is none left. */
  become(kind: "watches" | "streams"): void;
  leave(): void;
}

type Resolve = () => void;

interface Flow {
  readonly name: string;
  requests: number;
  watches: number;
  streams: number;
  readonly waiting: Resolve[];
  readonly turns: Resolve[];
  readonly large: Resolve[];
  hasTurn: boolean;
  sendsLarge: boolean;
}

/**
 * Keeps users from delaying each other. Each flow has a bounded number of requests in progress. Further requests wait in order,
 * and above another limit they are refused with 429. In each turn of the event loop, one request of each flow is handled.
 */
export class FairShares {
  readonly #limits: ShareLimits;
  readonly #flows = new Map<string, Flow>();
  readonly #busy = new Set<Flow>();
  #isTicking = false;

  constructor(limits: Partial<ShareLimits> = {}) {
    this.#limits = { ...defaultShares, ...limits };
  }

  /** The number of flows with something in progress. */
  get size(): number {
    return this.#flows.size;
  }

  enter(identity: Identity): Seat | Promise<Seat> {
    const name = flowOf(identity);
    if (name === undefined) return unlimited;
    const flow = this.#flow(name);
    if (flow.requests < this.#limits.requests) {
      flow.requests += 1;
      return this.#seat(flow);
    }
    if (flow.waiting.length >= this.#limits.waiting) throw tooMany("requests");
    return new Promise((resolve) => flow.waiting.push(() => resolve(this.#seat(flow))));
  }

  /** Counts a watch or stream from its start. Returns a function that ends it. */
  open(identity: Identity, kind: "watches" | "streams"): () => void {
    const name = flowOf(identity);
    return name === undefined ? () => undefined : this.#open(this.#flow(name), kind);
  }

  #open(flow: Flow, kind: "watches" | "streams"): () => void {
    if (flow[kind] >= this.#limits[kind]) throw tooMany(kind);
    flow[kind] += 1;
    return once(() => {
      flow[kind] -= 1;
      this.#forgetIdle(flow);
    });
  }

  #seat(flow: Flow): Seat {
    let end = once(() => this.#leave(flow));
    let isLarge = false;
    return {
      turn: () => this.#turn(flow),
      alone: () => {
        isLarge = true;
        if (flow.sendsLarge) return new Promise((resolve) => flow.large.push(resolve));
        flow.sendsLarge = true;
        return undefined;
      },
      become: (kind) => {
        const close = this.#open(flow, kind);
        end();
        end = close;
      },
      leave: () => {
        if (isLarge) this.#passOnLarge(flow);
        isLarge = false;
        end();
      },
    };
  }

  #leave(flow: Flow): void {
    const next = flow.waiting.shift();
    if (next !== undefined) return next();
    flow.requests -= 1;
    this.#forgetIdle(flow);
  }

  #passOnLarge(flow: Flow): void {
    const next = flow.large.shift();
    if (next === undefined) flow.sendsLarge = false;
    else next();
  }

  #turn(flow: Flow): Promise<void> | undefined {
    if (flow.hasTurn) return new Promise((resolve) => flow.turns.push(resolve));
    flow.hasTurn = true;
    this.#busy.add(flow);
    if (!this.#isTicking) setImmediate(() => this.#nextTurn());
    this.#isTicking = true;
    return undefined;
  }

  #nextTurn(): void {
    for (const flow of this.#busy) {
      const next = flow.turns.shift();
      if (next !== undefined) {
        next();
        continue;
      }
      flow.hasTurn = false;
      this.#busy.delete(flow);
    }
    this.#isTicking = this.#busy.size > 0;
    if (this.#isTicking) setImmediate(() => this.#nextTurn());
  }

  #flow(name: string): Flow {
    const known = this.#flows.get(name);
    if (known !== undefined) return known;
    const counts = { requests: 0, watches: 0, streams: 0, hasTurn: false, sendsLarge: false };
    const flow: Flow = { name, ...counts, waiting: [], turns: [], large: [] };
    this.#flows.set(name, flow);
    return flow;
  }

  #forgetIdle({ name, requests, watches, streams }: Flow): void {
    if (requests + watches + streams === 0) this.#flows.delete(name);
  }
}

const nothing = (): undefined => undefined;
const unlimited: Seat = { turn: nothing, alone: nothing, become: nothing, leave: nothing };

function once(run: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    run();
  };
}

function tooMany(what: "requests" | "watches" | "streams"): ApiError {
  return new ApiError("TooManyRequests", `too many ${what} of this user are in progress: try again later`, {
    details: { retryAfterSeconds: 1 },
  });
}
