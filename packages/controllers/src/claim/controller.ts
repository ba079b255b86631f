import {
  claimFirstReadyAtAnnotation,
  controllerFirstObservedAtAnnotation,
  formatNanoTime,
  type Sandbox,
  type SandboxClaim,
  sandboxClaims,
  sandboxes,
  sandboxTemplates,
  sandboxWarmPools,
} from "@agent-sandbox/api";
import {
  Controller,
  type EventRecorder,
  OwnWrites,
  objectKey,
  type Pass,
  type Result,
  type Scheduler,
  silentLogger,
  systemScheduler,
} from "@agent-sandbox/kube";
import type { ControllerContext } from "../controller-context.ts";

import type { Tracing } from "../pass-trace.ts";
import { clockErrorMs } from "../server-clock.ts";
import { networkPolicies } from "../template/network-policies.ts";
import { defaultLabelDomains } from "./additional-metadata.ts";
import { type ClaimPass, type ClaimPorts, reconcileClaim } from "./apply.ts";
import { Candidates } from "./candidates.ts";
import { seemsOver } from "./lifecycle.ts";
import { ClaimMemories, type ClaimMemory, isClaimReady } from "./memory.ts";
import { type ClaimMetrics, servedBy, startOf } from "./metrics.ts";
import { type ClaimCaches, indexOwned, observe } from "./observe.ts";
import type { Observed } from "./observed.ts";
import type { Problem } from "./problem.ts";
import { traceClaim } from "./trace-claim.ts";
import { claimTriggers } from "./triggers.ts";

export interface ClaimControllerOptions extends ControllerContext {
  /** Claims worked on at the same time. Default 50. */
  readonly workers?: number;
  /** Domains of the labels that claims may add to their Pods. Default `sandbox.users.io`. */
  readonly labelDomains?: readonly string[];
  /** How long a claim waits for a pool member that is still starting before it gets a Sandbox of its own. Default 2 s. */
  readonly patienceMs?: number;
  /** Whether to note on each claim when it was first seen and first Ready: one write more per claim. Default: no. */
  readonly stampClaims?: boolean;
  /** Only the claims of this namespace. Default: all. */
  readonly namespace?: string;
  /** Told what people should know. Default: nobody is told. */
  readonly events?: Pick<EventRecorder, "record">;
  readonly metrics?: ClaimMetrics;
  /** Default: nothing is traced. */
  readonly tracing?: Tracing;
}

/** Gives each claim its Sandbox: a free member of its pool, or one made for it. */
export function startClaimController(options: ClaimControllerOptions): Controller {
  const { informers, fence, log, metrics, workers = 50, scheduler = systemScheduler, rightOfWay } = options;
  const scope = options.namespace === undefined ? {} : { namespace: options.namespace };
  const claims = informers.get(sandboxClaims, scope);
  const cache = informers.get(sandboxes, scope);
  const ownWrites = new OwnWrites();
  const memories = new ClaimMemories(scheduler);
  const candidates = new Candidates((claim) => controller.enqueue(claim));
  const caches: ClaimCaches = {
    sandboxes: cache,
    ownedSandboxes: indexOwned(cache),
    pools: informers.get(sandboxWarmPools, scope),
    templates: informers.get(sandboxTemplates, scope),
    policies: informers.get(networkPolicies, scope),
    candidates,
    labelDomains: options.labelDomains ?? defaultLabelDomains,
    patienceMs: options.patienceMs ?? 2_000,
  };
  const passes = new ClaimPasses({ ...options, scheduler }, caches, ownWrites);
  const controller: Controller = Controller.start({
    name: "claim",
    client: informers.client,
    fence,
    workers,
    ...(rightOfWay && { goesFirst: { tell: (keys: number) => rightOfWay.tell(Math.min(keys, candidates.stock)) } }),
    scheduler,
    primary: claims,
    when: ({ new: claim }) => !ownWrites.takes(claim),
    triggers: [
      // First: what wakes a claim must find the books in order.
      { cache: claims, connect: () => claims.subscribe((update) => memories.follow(update)) },
      { cache, connect: () => cache.subscribe((update) => candidates.follow(update)) },
      ...claimTriggers(claims, caches, ownWrites),
    ],
    ...(log && { log }),
    ...(metrics && { metrics }),
    reconcile: async (key, pass) => {
      const claim = claims.get(key);
      if (claim !== undefined) return passes.run(pass, claim, memories.of(claim));
      memories.forget(key);
      candidates.leave(key);
      candidates.release(key);
      return undefined;
    },
  });
  return controller;
}

/** So many times in a row may another write come before the transfer without a word. */
const mostQuietConflicts = 5;

class ClaimPasses {
  readonly #options: ClaimControllerOptions & { readonly scheduler: Scheduler };
  readonly #caches: ClaimCaches;
  readonly #ownWrites: OwnWrites;

  constructor(
    options: ClaimControllerOptions & { readonly scheduler: Scheduler },
    caches: ClaimCaches,
    ownWrites: OwnWrites,
  ) {
    this.#options = options;
    this.#caches = caches;
    this.#ownWrites = ownWrites;
  }

  async run({ client, signal }: Pass, claim: SandboxClaim, memory: ClaimMemory): Promise<Result | undefined> {
    const { events, metrics, tracing, log = silentLogger } = this.#options;
    const date = (): number => this.#options.scheduler.date();
    const errorMs = seemsOver(claim, date()) ? await clockErrorMs({ client, log, now: date }, claim) : 0;
    const now = (): number => date() - errorMs;
    const waitedMs = this.#options.scheduler.now() - memory.knownSince;
    const seen = observe(claim, this.#caches, { now: now(), waitedMs });
    const key = objectKey(claim);
    if (seen.candidate === undefined) this.#caches.candidates.release(key);
    if (seen.waitUntil === undefined) this.#caches.candidates.leave(key);
    this.#countLate(seen, memory);
    const stamp = this.#stampFor(claim, memory);
    const ports: ClaimPorts = {
      client,
      signal,
      ownWrites: this.#ownWrites,
      now,
      tell: (note) => events?.record(sandboxClaims, claim, note),
      onServed: (sandbox) => {
        memory.conflicts = 0;
        memory.isUnserved = false;
        metrics?.served?.(servedBy(claim, sandbox, claim.spec.warmPoolRef.name));
      },
      unreportedSince: memory.unreportedSince,
      onConflict: (member) => conflictOf(memory, member),
    };
    const pass = await traceClaim({ tracing, log }, stamp === undefined ? seen : { ...seen, stamp }, (joined) =>
      reconcileClaim(ports, joined),
    );
    memory.unreportedSince = pass.defers === true ? (memory.unreportedSince ?? now()) : undefined;
    if (pass.returnsMember === true) this.#caches.candidates.release(key);
    return this.#finish({ claim, memory, now: now() }, pass);
  }

  /** A Sandbox that was given by a write whose answer was lost counts when it is found. */
  #countLate({ claim, owned }: Observed, memory: ClaimMemory): void {
    const [bound] = owned;
    if (bound !== undefined && memory.isUnserved === true) {
      this.#options.metrics?.served?.(servedBy(claim, bound.sandbox, claim.spec.warmPoolRef.name));
    }
    memory.isUnserved = bound === undefined;
  }

  #finish(
    { claim, memory, now }: { claim: SandboxClaim; memory: ClaimMemory; now: number },
    { reported, sandbox, wakeAt }: ClaimPass,
  ): Result | undefined {
    const becameReady = reported !== undefined && isClaimReady(reported) && !isClaimReady(claim);
    if (becameReady && sandbox !== undefined) this.#measure(claim, memory, sandbox);
    const stampAt = becameReady && this.#options.stampClaims === true ? now : undefined;
    const times = [wakeAt, stampAt].filter((time) => time !== undefined);
    return times.length === 0 ? undefined : { requeueAfterMs: Math.max(0, Math.min(...times) - now) };
  }

  /** Once in a claim's life, and never when another process may have measured it. */
  #measure(claim: SandboxClaim, memory: ClaimMemory, sandbox: Sandbox): void {
    if (!memory.isMeasurable) return;
    memory.isMeasurable = false;
    memory.firstReadyAt = this.#options.scheduler.date();
    const started = startOf(claim, sandbox, { firstSeenAt: memory.firstSeenAt, now: memory.firstReadyAt });
    if (started !== undefined) this.#options.metrics?.started?.(started);
  }

  #stampFor(claim: SandboxClaim, memory: ClaimMemory): Record<string, string> | undefined {
    const { annotations = {} } = claim.metadata;
    if (this.#options.stampClaims !== true || !isClaimReady(claim)) return undefined;
    if (annotations[claimFirstReadyAtAnnotation] !== undefined) return undefined;
    const { firstSeenAt, firstReadyAt } = memory;
    return {
      [controllerFirstObservedAtAnnotation]:
        annotations[controllerFirstObservedAtAnnotation] ?? formatNanoTime(BigInt(firstSeenAt) * 1_000_000n),
      [claimFirstReadyAtAnnotation]:
        firstReadyAt === undefined ? "unknown" : formatNanoTime(BigInt(firstReadyAt) * 1_000_000n),
    };
  }
}

function conflictOf(memory: ClaimMemory, member: Sandbox): Problem | undefined {
  memory.conflicts += 1;
  if (memory.conflicts < mostQuietConflicts) return undefined;
  const message = `Cannot adopt Sandbox "${member.metadata.name}": a concurrent write came first ${memory.conflicts} times in a row`;
  return { reason: "AdoptionConflict", message };
}
