import {
  type SandboxClaim,
  type SandboxClaimStatus,
  sandboxClaims,
  sandboxes,
  sandboxTemplates,
  sandboxWarmPools,
} from "@agent-sandbox/api";
import {
  Controller,
  type EventRecord,
  type EventRecorder,
  following,
  type Informers,
  type Pass,
  reconciler,
  type Scope,
  systemScheduler,
} from "@agent-sandbox/kube";
import type { ControllerContext } from "../controller-context.ts";
import type { Tracing } from "../pass-trace.ts";
import { clockAheadMs, decideByServerClock } from "../server-clock.ts";
import { networkPolicies } from "../template/network-policies.ts";
import { TemplateSnapshots } from "../template/template-snapshots.ts";
import { ignoreConflict, writeStatus } from "../write-status.ts";
import { defaultLabelDomains } from "./additional-metadata.ts";
import { decide } from "./decide.ts";
import type { Action, Decision } from "./decision.ts";
import { seemsExpired } from "./lifecycle.ts";
import { type ClaimMemory, initialMemory } from "./memory.ts";
import { type ClaimMetrics, measureStart, servedBy } from "./metrics.ts";
import { type ClaimCaches, type ClaimSettings, indexOwned, type Observed, observe } from "./observe.ts";
import { failed, perform } from "./perform.ts";
import { keptAfter, Reservations } from "./reservations.ts";
import { traceClaim } from "./trace-claim.ts";
import { claimTriggers } from "./triggers.ts";

export interface ClaimControllerOptions extends ControllerContext {
  /** Claims reconciled at the same time. Default 50. */
  readonly workers?: number;
  /** Domains of the labels that claims may add to their Pods. Default `sandbox.users.io`. */
  readonly labelDomains?: readonly string[];
  /** How long a claim waits for a pool member that is still starting before it gets a Sandbox of its own. Default 2 s. */
  readonly patienceMs?: number;
  /** Annotates each claim with the time it was first observed. Default true. */
  readonly stampClaims?: boolean;
  /** Only the claims of this namespace. Default: all. */
  readonly namespace?: string;
  /** Default: no events are recorded. */
  readonly events?: Pick<EventRecorder, "record">;
  readonly metrics?: ClaimMetrics;
  /** Default: nothing is traced. */
  readonly tracing?: Tracing;
}

function openCaches(informers: Informers, scope: Scope): ClaimCaches {
  const sandboxCache = informers.get(sandboxes, scope);
  return {
    sandboxes: sandboxCache,
    ownedSandboxes: indexOwned(sandboxCache),
    pools: informers.get(sandboxWarmPools, scope),
    templates: informers.get(sandboxTemplates, scope),
    policies: informers.get(networkPolicies, scope),
    snapshots: new TemplateSnapshots(informers, scope),
  };
}

/** Gives each claim its Sandbox: a free member of its pool, or one created for it. */
export function startClaimController(options: ClaimControllerOptions): Controller {
  const { informers, fence, log, metrics, events, workers = 50, scheduler = systemScheduler, priority } = options;
  const scope = options.namespace === undefined ? {} : { namespace: options.namespace };
  const claims = informers.get(sandboxClaims, scope);
  const caches = openCaches(informers, scope);
  const settings: ClaimSettings = {
    labelDomains: options.labelDomains ?? defaultLabelDomains,
    patienceMs: options.patienceMs ?? 2_000,
    stampClaims: options.stampClaims ?? true,
  };
  const reservations = new Reservations((claim) => controller.enqueue(claim));
  const recordEvent = ({ claim }: Observed, event: EventRecord): void => events?.record(sandboxClaims, claim, event);
  const now = (): number => scheduler.date();

  const observeClaim = async (key: string, { client, log }: Pass): Promise<Observed | undefined> => {
    const claim = claims.get(key);
    if (claim === undefined) return undefined;
    const aheadMs = seemsExpired(claim, now()) ? await clockAheadMs({ client, log, now }, claim) : 0;
    return observe(claim, caches, { settings, uptimeMs: scheduler.now(), clockAheadMs: aheadMs });
  };

  const controller: Controller = Controller.start({
    name: "claim",
    client: informers.client,
    fence,
    workers,
    ...(priority && { reportKeys: (keys: number) => priority.reportKeys(Math.min(keys, reservations.stock)) }),
    scheduler,
    primary: claims,
    triggers: [
      // First: the passes that the other triggers cause must find the free members up to date.
      following(caches.sandboxes, (update) => reservations.follow(update)),
      ...claimTriggers(claims, caches),
    ],
    ...(log && { log }),
    ...(metrics && { metrics }),
    reconcile: reconciler<SandboxClaim, Observed, Action, SandboxClaimStatus, ClaimMemory, Decision>({
      primary: claims,
      initialMemory: (claim) => initialMemory(claim, scheduler),
      observe: observeClaim,
      decide: decideByServerClock(decide),
      perform: (action, observed, pass) =>
        perform(action, observed, { pass, reservations, caches, recordEvent: (event) => recordEvent(observed, event) }),
      failed: (error, _action, observed) => failed(error, observed),
      writeStatus: (status, { claim }, pass) => writeStatus(sandboxClaims, claim, status, pass).catch(ignoreConflict),
      onDecision: ({ served }, { claim }) => {
        if (served !== undefined) metrics?.served?.(servedBy(claim, served, claim.spec.warmPoolRef.name));
      },
      onWritten: (answer, { claim, owned: [bound] }, memory) =>
        measureStart({ before: claim, after: answer, sandbox: bound?.sandbox }, memory, { metrics, now: now() }),
      finish: (key, end) => reservations.endPass(key, keptAfter(end)),
      recordEvent,
      trace: (observed, pass) => traceClaim(observed, { tracing: options.tracing, log: pass.log }),
      scheduler,
    }),
  });
  return controller;
}
