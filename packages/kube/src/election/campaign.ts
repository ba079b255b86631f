import type { Client } from "../client.ts";
import { type Logger, silentLogger } from "../logger.ts";
import { type Scheduler, systemScheduler } from "../queue/scheduler.ts";
import type { ObjectKey } from "../resource.ts";
import { type Leadership, Tenure } from "./leadership.ts";
import { type Attempt, LeaseKeeper } from "./lease-keeper.ts";

export interface CampaignOptions {
  /** Must not use a transport of `whileLeading`: the lease is also written by processes that do not lead. */
  readonly client: Client;
  readonly lease: Required<ObjectKey>;
  /** Unique among the candidates, for example the host name and a random suffix. */
  readonly identity: string;
  /** How long other candidates wait after the last renewal they observed. Default 15 s. */
  readonly leaseDurationMs?: number;
  /** How long the leader may write after its last renewal. Shorter than the lease, because requests take time to arrive. Default 10 s. */
  readonly renewDeadlineMs?: number;
  /** The time between two attempts to acquire or renew the lease. Default 2 s. */
  readonly retryPeriodMs?: number;
  readonly scheduler?: Scheduler;
  readonly log?: Logger;
  /**
   * Called after each attempt that finds another holder, with whether that holder has missed several renewals. If so, the lease may soon be
   * acquired.
   */
  readonly onWaiting?: (holderIsSilent: boolean) => void;
  /** In [0, 1). Default `Math.random`. */
  readonly random?: () => number;
}

/** Spreads the attempts of candidates that wait for the same lease. */
const jitter = 0.2;

/** A holder that missed this many retry periods is silent. One is not enough, because a request may be slow. */
const silentPeriods = 3;

/**
 * Acquires the lease, then renews it until leadership is lost or disposed. It uses the Lease object as Kubernetes' own
 * components do. Rejects only when the signal aborts.
 */
export async function campaign(options: CampaignOptions, signal?: AbortSignal): Promise<Leadership> {
  const run = prepare(options);
  for (;;) {
    signal?.throwIfAborted();
    const attempt = await within(run, run.renewDeadlineMs, (bound) => run.keeper.take(bound), signal);
    if (attempt.type === "held") return lead(run, attempt.since);
    if (attempt.type === "failed") run.log.warn({ ...run.fields, err: attempt.error }, "lease not acquired");
    await run.scheduler.sleep(pauseAfter(attempt, run, options), signal);
  }
}

/** The time until the next attempt, which is not later than the end of the lease. */
function pauseAfter(attempt: Attempt, run: Run, { onWaiting }: CampaignOptions): number {
  const pauseMs = run.retryPeriodMs * (1 + jitter * run.random());
  if (attempt.type !== "other") return pauseMs;
  const now = run.scheduler.now();
  const { observedAt, expiresAt } = attempt.renewal;
  onWaiting?.(now - observedAt >= silentPeriods * run.retryPeriodMs);
  return Math.min(pauseMs, Math.max(0, expiresAt - now));
}

interface Run {
  readonly keeper: LeaseKeeper;
  readonly identity: string;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
  readonly scheduler: Scheduler;
  readonly log: Logger;
  readonly random: () => number;
  /** The fields of every log line. */
  readonly fields: object;
}

function prepare(options: CampaignOptions): Run {
  const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2_000 } = options;
  if (!(leaseDurationMs > renewDeadlineMs && renewDeadlineMs > retryPeriodMs * (1 + jitter) && retryPeriodMs > 0)) {
    const times = `a lease of ${leaseDurationMs} ms, renewed within ${renewDeadlineMs} ms, tried every ${retryPeriodMs} ms`;
    throw new Error(`Cannot campaign with ${times}: each time must be shorter than the one before`);
  }
  const { client, lease, identity, scheduler = systemScheduler, log = silentLogger, random = Math.random } = options;
  const keeper = new LeaseKeeper({ client, lease, candidate: { identity, leaseDurationMs }, scheduler });
  return { keeper, identity, renewDeadlineMs, retryPeriodMs, scheduler, log, random, fields: { lease, identity } };
}

function lead(run: Run, acquiredAt: number): Leadership {
  const now = (): number => run.scheduler.now();
  const tenure = new Tenure({ renewDeadlineMs: run.renewDeadlineMs, now, acquiredAt });
  const resigning = new AbortController();
  run.log.info(run.fields, "leadership acquired");
  const renewing = keepRenewing(run, tenure, AbortSignal.any([tenure.lost, resigning.signal]));
  return {
    identity: run.identity,
    lost: tenure.lost,
    assertLeading: (action) => tenure.assert(action),
    [Symbol.asyncDispose]: async () => {
      const wasLeading = tenure.leftMs > 0;
      resigning.abort();
      await renewing;
      tenure.lose("it was released");
      if (wasLeading) await release(run);
    },
  };
}

async function keepRenewing(run: Run, tenure: Tenure, ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    await run.scheduler.sleep(Math.min(run.retryPeriodMs, tenure.leftMs), ended);
    if (ended.aborted) return;
    const attempt = await within(run, tenure.leftMs, (bound) => run.keeper.renew(bound), ended);
    if (attempt.type === "held") tenure.renew(attempt.since);
    else if (attempt.type === "other") tenure.lose(`"${attempt.holder}" holds the lease`);
    else {
      if (!ended.aborted) run.log.warn({ ...run.fields, err: attempt.error }, "lease not renewed");
      if (tenure.leftMs === 0) tenure.lose("the lease was not renewed in time");
    }
    if (tenure.lost.aborted) run.log.error({ ...run.fields, err: tenure.lost.reason }, "leadership lost");
  }
}

async function release(run: Run): Promise<void> {
  try {
    await within(run, run.retryPeriodMs, (bound) => run.keeper.release(bound));
    run.log.info(run.fields, "leadership released");
  } catch (error) {
    run.log.warn({ ...run.fields, err: error }, "lease not released");
  }
}

/** Runs requests with a time limit. */
async function within<T>(
  { scheduler }: Run,
  ms: number,
  request: (bound: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const bound = new AbortController();
  using _timer = scheduler.schedule(ms, () => bound.abort());
  return await request(signal === undefined ? bound.signal : AbortSignal.any([bound.signal, signal]));
}
