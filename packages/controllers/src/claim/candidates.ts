import type { Sandbox } from "@agent-sandbox/api";
import type { CacheUpdate } from "@agent-sandbox/kube";
import { asFreeMember, type FreeMember, type Nearness } from "./free-members.ts";
import { MemberLine } from "./member-line.ts";

interface Pool {
  readonly lines: Readonly<Record<Nearness, MemberLine>>;
  /** Claims for which a member will soon be near enough, first come first served. */
  readonly waiting: Set<string>;
}

/**
 * Who may take which pool member: what the cache of Sandboxes shows as free, less what is promised. A member is promised to
 * one claim at a time, from when it is taken until the cache shows that it is free no more, or the claim lets go of it.
 */
export class Candidates {
  readonly #pools = new Map<string, Pool>();
  readonly #free = new Map<string, FreeMember>();
  readonly #claimOf = new Map<string, string>();
  readonly #promisedTo = new Map<string, string>();
  readonly #waitsAt = new Map<string, string>();
  readonly #wake: (claim: string) => void;
  #ready = 0;

  /** `wake` is called with a waiting claim when there is a member for it. */
  constructor(wake: (claim: string) => void) {
    this.#wake = wake;
  }

  /** Members of all pools that can serve a claim at once: those that are Ready, and those that are promised. */
  get stock(): number {
    return this.#ready + this.#claimOf.size;
  }

  /** Follows the cache. */
  follow({ deltas, wentBack }: CacheUpdate<Sandbox>): void {
    // After a restored backup a member that was handed out may be free again.
    if (wentBack) for (const claim of this.#promisedTo.keys()) this.release(claim);
    for (const { key, new: sandbox } of deltas) this.#update(key, sandbox && asFreeMember(sandbox));
  }

  /** A member of the pool for this claim: the one it was promised, else the nearest that is acceptable. */
  take(poolId: string, claim: string, accepts: (sandbox: Sandbox) => boolean = () => true): Sandbox | undefined {
    const promised = this.promised(claim);
    if (promised?.poolId === poolId && accepts(promised.sandbox)) return promised.sandbox;
    this.release(claim);
    const pool = this.#pools.get(poolId);
    const fits = ({ sandbox }: FreeMember): boolean => accepts(sandbox);
    const found = pool?.lines.ready.first(fits) ?? pool?.lines.addressed.first(fits);
    if (found !== undefined) this.#promise(found, claim);
    return found?.sandbox;
  }

  /** That very member, near or not, unless another claim was promised it. */
  takeNamed(key: string, poolId: string, claim: string): Sandbox | undefined {
    const member = this.#free.get(key);
    if (member?.poolId !== poolId) return undefined;
    const holder = this.#claimOf.get(key);
    if (holder === claim) return member.sandbox;
    if (holder !== undefined) return undefined;
    this.release(claim);
    this.#promise(member, claim);
    return member.sandbox;
  }

  promised(claim: string): FreeMember | undefined {
    return this.#free.get(this.#promisedTo.get(claim) ?? "");
  }

  /** The claim does not want what it was promised; others may have it. */
  release(claim: string): void {
    const key = this.#promisedTo.get(claim);
    if (key === undefined) return;
    this.#promisedTo.delete(claim);
    this.#claimOf.delete(key);
    const member = this.#free.get(key);
    if (member !== undefined) this.#enter(member);
  }

  /** Whether a member that is not near enough yet may be kept for this claim. No more claims wait than members come. */
  wait(poolId: string, claim: string): boolean {
    if (this.#waitsAt.get(claim) !== poolId) this.leave(claim);
    const pool = this.#pools.get(poolId);
    if (pool === undefined) return false;
    if (!pool.waiting.has(claim) && pool.waiting.size >= pool.lines.pending.size) return false;
    pool.waiting.add(claim);
    this.#waitsAt.set(claim, poolId);
    return true;
  }

  /** The claim waits no longer. */
  leave(claim: string): void {
    const poolId = this.#waitsAt.get(claim);
    if (poolId === undefined) return;
    this.#waitsAt.delete(claim);
    const pool = this.#pools.get(poolId);
    pool?.waiting.delete(claim);
    if (pool !== undefined) this.#dropIfEmpty(poolId, pool);
  }

  /** Free members of a pool, promised ones left out. */
  count(poolId: string): number {
    const lines = this.#pools.get(poolId)?.lines;
    return lines === undefined ? 0 : lines.ready.size + lines.addressed.size + lines.pending.size;
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
    this.#promisedTo.delete(claim);
  }

  #promise(member: FreeMember, claim: string): void {
    this.#exit(member);
    this.#claimOf.set(member.key, claim);
    this.#promisedTo.set(claim, member.key);
    this.leave(claim);
  }

  #enter(member: FreeMember): void {
    const pool = this.#pools.get(member.poolId) ?? openPool();
    this.#pools.set(member.poolId, pool);
    this.#count(pool, () => pool.lines[member.nearness].add(member));
    if (member.nearness === "pending") return;
    const [first] = pool.waiting;
    if (first === undefined) return;
    this.leave(first);
    this.#wake(first);
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

  #dropIfEmpty(poolId: string, { lines, waiting }: Pool): void {
    if (lines.ready.size + lines.addressed.size + lines.pending.size + waiting.size === 0) this.#pools.delete(poolId);
  }
}

function openPool(): Pool {
  const lines = { ready: new MemberLine(), addressed: new MemberLine(), pending: new MemberLine() };
  return { lines, waiting: new Set() };
}

function isSamePlace(a: FreeMember, b: FreeMember): boolean {
  return a.poolId === b.poolId && a.nearness === b.nearness && a.node === b.node;
}
