import { findCondition, isConditionTrue, type SandboxClaim } from "@agent-sandbox/api";
import { type CacheUpdate, objectKey, type Scheduler } from "@agent-sandbox/kube";

/** What is remembered of a claim while it exists. Lost with the process: then its start is not measured. */
export interface ClaimMemory {
  readonly uid: string;
  /** When this process first saw the claim: by the date, for people, and by the clock that never jumps. */
  readonly firstSeenAt: number;
  readonly knownSince: number;
  /** Whether the time until it is first Ready can still be told. */
  isMeasurable: boolean;
  /** Attempts in a row to take a member that another write came before. */
  conflicts: number;
  /** Whether this process last saw it without a Sandbox: whoever gave it one, the answer may have been lost. */
  isUnserved?: boolean;
  /** When this process saw it become Ready. */
  firstReadyAt?: number;
  /** Since when its status is out of date, in words only. */
  unreportedSince?: number | undefined;
}

/** One memory for each claim in the cache. */
export class ClaimMemories {
  readonly #byKey = new Map<string, ClaimMemory>();
  readonly #clock: Pick<Scheduler, "now" | "date">;

  constructor(clock: Pick<Scheduler, "now" | "date">) {
    this.#clock = clock;
  }

  follow({ deltas }: CacheUpdate<SandboxClaim>): void {
    for (const { key, old, new: claim } of deltas) {
      if (claim !== undefined) this.of(claim);
      else if (old !== undefined && this.#byKey.get(key)?.uid === old.metadata.uid) this.#byKey.delete(key);
    }
  }

  /** A claim that somebody has judged before we saw it may have been Ready already. */
  of(claim: SandboxClaim): ClaimMemory {
    const key = objectKey(claim);
    const { uid = "" } = claim.metadata;
    const known = this.#byKey.get(key);
    if (known?.uid === uid) return known;
    const isMeasurable = findCondition(claim.status?.conditions, "Ready") === undefined;
    const times = { firstSeenAt: this.#clock.date(), knownSince: this.#clock.now() };
    const memory = { uid, ...times, isMeasurable, conflicts: 0 };
    this.#byKey.set(key, memory);
    return memory;
  }

  forget(key: string): void {
    this.#byKey.delete(key);
  }

  get size(): number {
    return this.#byKey.size;
  }
}

export function isClaimReady({ status }: SandboxClaim): boolean {
  return isConditionTrue(status?.conditions, "Ready");
}
