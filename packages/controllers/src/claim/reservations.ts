import type { Sandbox } from "@agent-sandbox/api";
import type { CacheUpdate, PassEnd } from "@agent-sandbox/kube";
import type { Action } from "./decision.ts";
import { asFreeMember, type FreeMember, type Nearness } from "./free-members.ts";
import { MemberLine } from "./member-line.ts";
import type { Observed } from "./observe.ts";

export interface ReservationRequest {
  /** The claim's key. */
  readonly claim: string;
  readonly poolId: string;
  /** The key of a member that another controller chose for the claim. It is preferred, ready or not. */
  readonly named: string | undefined;
  /** Which other members will do. `current` means those that match today's template. */
  readonly others: "none" | "current" | "any";
  /** Whether the claim may be queued for a member that is still starting. */
  readonly mayQueue: boolean;
}

export type Reserved =
  | { readonly type: "member"; readonly sandbox: Sandbox }
  | { readonly type: "queued" }
  | { readonly type: "none" };

/** The reservation that a claim keeps after its pass. */
export type Kept = "member" | "place" | "nothing";

interface Pool {
  readonly lines: Readonly<Record<Nearness, MemberLine>>;
  /** Claims that wait for a member to get an address, first come first served. */
  readonly queue: Set<string>;
}

/**
 * Which claim may adopt which pool member. It knows the free members from the cache of Sandboxes. A member is reserved for one
 * claim at a time: from `reserve` until the cache shows that it is not free any more, or until `endPass` returns it.
 */
export class Reservations {
  readonly #pools = new Map<string, Pool>();
  readonly #free = new Map<string, FreeMember>();
  readonly #claimOf = new Map<string, string>();
  readonly #memberOf = new Map<string, string>();
  readonly #queuedAt = new Map<string, string>();
  readonly #enqueue: (claim: string) => void;
  #ready = 0;

  /** `enqueue` is called with a queued claim when there is a member for it. */
  constructor(enqueue: (claim: string) => void) {
    this.#enqueue = enqueue;
  }

  /** Members of all pools that can serve a claim at once: those that are Ready, and those that are reserved. */
  get stock(): number {
    return this.#ready + this.#claimOf.size;
  }

  /** Free members of a pool without the reserved ones. */
  count(poolId: string): number {
    const lines = this.#pools.get(poolId)?.lines;
    return lines === undefined ? 0 : lines.ready.size + lines.addressed.size + lines.pending.size;
  }

  /** Follows the cache of Sandboxes. */
  follow({ deltas, wentBack }: CacheUpdate<Sandbox>): void {
    // After a backup was restored, a member that was adopted may be free again.
    if (wentBack) for (const claim of this.#memberOf.keys()) this.#release(claim);
    for (const { key, new: sandbox } of deltas) this.#update(key, sandbox && asFreeMember(sandbox));
  }

  /** Reserves a member, or queues the claim for one. A claim that has a reservation gets the same member again. */
  reserve(request: ReservationRequest, isCurrent: (member: Sandbox) => boolean): Reserved {
    const { claim, poolId, named, others, mayQueue } = request;
    const chosen = named === undefined ? undefined : this.#reserveNamed(named, poolId, claim);
    if (chosen !== undefined) return { type: "member", sandbox: chosen };
    if (others === "none") return { type: "none" };
    const member = this.#reserveNearest(poolId, claim, others === "any" ? () => true : isCurrent);
    if (member !== undefined) return { type: "member", sandbox: member };
    return mayQueue && this.#queueAt(poolId, claim) ? { type: "queued" } : { type: "none" };
  }

  /** Called once at the end of each pass over a claim: returns what the claim does not keep. */
  endPass(claim: string, kept: Kept): void {
    if (kept !== "member") this.#release(claim);
    if (kept !== "place") this.#leaveQueue(claim);
  }

  /** The member that is reserved for the claim, else the nearest that is acceptable. */
  #reserveNearest(poolId: string, claim: string, accepts: (sandbox: Sandbox) => boolean): Sandbox | undefined {
    const reserved = this.#free.get(this.#memberOf.get(claim) ?? "");
    if (reserved?.poolId === poolId && accepts(reserved.sandbox)) return reserved.sandbox;
    this.#release(claim);
    const pool = this.#pools.get(poolId);
    const fits = ({ sandbox }: FreeMember): boolean => accepts(sandbox);
    const found = pool?.lines.ready.first(fits) ?? pool?.lines.addressed.first(fits);
    if (found !== undefined) this.#assign(found, claim);
    return found?.sandbox;
  }

  #reserveNamed(key: string, poolId: string, claim: string): Sandbox | undefined {
    const member = this.#free.get(key);
    if (member?.poolId !== poolId) return undefined;
    const holder = this.#claimOf.get(key);
    if (holder === claim) return member.sandbox;
    if (holder !== undefined) return undefined;
    this.#release(claim);
    this.#assign(member, claim);
    return member.sandbox;
  }

  #release(claim: string): void {
    const key = this.#memberOf.get(claim);
    if (key === undefined) return;
    this.#memberOf.delete(claim);
    this.#claimOf.delete(key);
    const member = this.#free.get(key);
    if (member !== undefined) this.#enter(member);
  }

  /** False when as many claims are queued as members are starting. */
  #queueAt(poolId: string, claim: string): boolean {
    if (this.#queuedAt.get(claim) !== poolId) this.#leaveQueue(claim);
    const pool = this.#pools.get(poolId);
    if (pool === undefined) return false;
    if (!pool.queue.has(claim) && pool.queue.size >= pool.lines.pending.size) return false;
    pool.queue.add(claim);
    this.#queuedAt.set(claim, poolId);
    return true;
  }

  #leaveQueue(claim: string): void {
    const poolId = this.#queuedAt.get(claim);
    if (poolId === undefined) return;
    this.#queuedAt.delete(claim);
    const pool = this.#pools.get(poolId);
    pool?.queue.delete(claim);
    if (pool !== undefined) this.#dropIfEmpty(poolId, pool);
  }

  #update(key: string, now: FreeMember | undefined): void {
    const before = this.#free.get(key);
    const claim = this.#claimOf.get(key);
    if (now !== undefined) this.#free.set(key, now);
    else this.#free.delete(key);
    if (claim !== undefined) {
      if (now === undefined) this.#forget(key, claim);
      return;
    }
    const stays = now !== undefined && before !== undefined && isSamePlace(before, now);
    if (before !== undefined && !stays) this.#exit(before);
    if (now !== undefined) this.#enter(now);
  }

  #forget(key: string, claim: string): void {
    this.#claimOf.delete(key);
    this.#memberOf.delete(claim);
  }

  #assign(member: FreeMember, claim: string): void {
    this.#exit(member);
    this.#claimOf.set(member.key, claim);
    this.#memberOf.set(claim, member.key);
    this.#leaveQueue(claim);
  }

  #enter(member: FreeMember): void {
    const pool = this.#pools.get(member.poolId) ?? openPool();
    this.#pools.set(member.poolId, pool);
    this.#count(pool, () => pool.lines[member.nearness].add(member));
    if (member.nearness === "pending") return;
    const [first] = pool.queue;
    if (first === undefined) return;
    this.#leaveQueue(first);
    this.#enqueue(first);
  }

  #exit(member: FreeMember): void {
    const pool = this.#pools.get(member.poolId);
    if (pool === undefined) return;
    this.#count(pool, () => pool.lines[member.nearness].remove(member));
    this.#dropIfEmpty(member.poolId, pool);
  }

  #count({ lines }: Pool, change: () => void): void {
    const before = lines.ready.size;
    change();
    this.#ready += lines.ready.size - before;
  }

  #dropIfEmpty(poolId: string, { lines, queue }: Pool): void {
    if (lines.ready.size + lines.addressed.size + lines.pending.size + queue.size === 0) this.#pools.delete(poolId);
  }
}

/** A claim keeps a member that it tried to adopt: the answer may have been lost, or a concurrent write may have come first. */
export function keptAfter({ observed, attempted }: PassEnd<Observed, Action>): Kept {
  if (attempted.some((action) => action.do === "adopt")) return "member";
  return observed?.reservation?.type === "queued" ? "place" : "nothing";
}

function openPool(): Pool {
  const lines = { ready: new MemberLine(), addressed: new MemberLine(), pending: new MemberLine() };
  return { lines, queue: new Set() };
}

function isSamePlace(a: FreeMember, b: FreeMember): boolean {
  return a.poolId === b.poolId && a.nearness === b.nearness && a.node === b.node;
}
