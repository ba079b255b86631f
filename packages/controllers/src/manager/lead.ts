import { type Client, campaign, type Leadership, type Logger, type Scheduler } from "@agent-sandbox/kube";

/** As the reference's, so that the two never work at the same time. */
export const leaseName = "a3317529.agent-sandbox.x-k8s.io";

/**
 * Others see a renewal up to 0.6 s late (a retry with its jitter), wait the whole lease from then, and look again within
 * 0.6 s: a crashed leader is followed after at most 4.2 s, one that gave the lease back after 0.6 s.
 */
export const leaseTimes = { leaseDurationMs: 3_000, renewDeadlineMs: 2_000, retryPeriodMs: 500 } as const;

export interface LeadOptions {
  /** Not guarded by a lease. */
  readonly client: Client;
  readonly namespace: string;
  readonly identity: string;
  readonly log: Logger;
  readonly scheduler?: Scheduler;
  /** Works until it is disposed. Every write it makes must first ask `assertLeading`. */
  readonly work: (leadership: Pick<Leadership, "assertLeading">) => AsyncDisposable;
  /** Called when work begins, and when the lease is lost before it has ended. */
  readonly onChange?: (state: "leading" | "lost") => void;
}

/**
 * Waits for the lease, works while it is ours, and ends when `signal` aborts: work is brought to its end first, then the
 * lease is given back, so that whoever follows finds nobody at work. Throws when the lease is lost instead.
 */
export async function lead(options: LeadOptions, signal: AbortSignal): Promise<void> {
  const { client, namespace, identity, log, scheduler, onChange } = options;
  const lease = { namespace, name: leaseName };
  const times = { ...leaseTimes, ...(scheduler && { scheduler }) };
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
