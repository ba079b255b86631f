import { type Client, campaign, type Leadership, type Logger, type Scheduler } from "@agent-sandbox/kube";

/** The same lease as the reference implementation's, so that the two never run at the same time. */
export const leaseName = "a3317529.agent-sandbox.x-k8s.io";

/**
 * Other candidates observe a renewal up to 0.48 s late (a retry with jitter), wait for the lease duration, and try again when it ends. A
 * crashed leader is replaced after at most 4.48 s, and one that released the lease after 0.48 s. Caches are filled while the
 * leader is silent, so that half a second remains for requests. The deadline is as long as this allows, because a leader that misses it
 * ends its process: on an overloaded machine one request can take seconds.
 */
export const leaseTimes = { leaseDurationMs: 4_000, renewDeadlineMs: 3_000, retryPeriodMs: 400 } as const;

export interface LeadOptions {
  /** A client that may write without the lease. */
  readonly client: Client;
  readonly namespace: string;
  readonly identity: string;
  readonly log: Logger;
  readonly scheduler?: Scheduler;
  /** Starts the work, which ends when it is disposed. Every write must call `assertLeading` first. */
  readonly work: (leadership: Pick<Leadership, "assertLeading">) => AsyncDisposable;
  /** Called repeatedly while another process leads, with whether it has stopped renewing its lease. */
  readonly onWaiting?: (leaderIsSilent: boolean) => void;
  /** Called when the work starts, and when the lease is lost before the work has ended. */
  readonly onChange?: (state: "leading" | "lost") => void;
}

/**
 * Acquires the lease, works while it holds it, and ends when `signal` aborts. The work ends before the lease is released, so
 * that two processes never work at the same time. Throws if the lease is lost.
 */
export async function lead(options: LeadOptions, signal: AbortSignal): Promise<void> {
  const { client, namespace, identity, log, scheduler, onWaiting, onChange } = options;
  const lease = { namespace, name: leaseName };
  const times = { ...leaseTimes, ...(scheduler && { scheduler }), ...(onWaiting && { onWaiting }) };
  const leadership = await campaign({ client, lease, identity, log, ...times }, signal).catch((error: unknown) => {
    if (signal.aborted) return undefined;
    throw error;
  });
  if (leadership === undefined) return;
  await using _lease = leadership;
  onChange?.("leading");
  await using _work = options.work(leadership);
  await eitherAborts(signal, leadership.lost);
  if (signal.aborted) return;
  onChange?.("lost");
  throw leadership.lost.reason;
}

export function eitherAborts(...signals: readonly AbortSignal[]): Promise<void> {
  const any = AbortSignal.any([...signals]);
  if (any.aborted) return Promise.resolve();
  return new Promise((resolve) => any.addEventListener("abort", () => resolve(), { once: true }));
}
