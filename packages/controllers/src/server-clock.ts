import { parseTime } from "@agent-sandbox/api";
import {
  type Client,
  type Decision,
  KubeError,
  type KubeEvent,
  type KubeObject,
  kubeEvents,
  type Logger,
  objectKey,
} from "@agent-sandbox/kube";

export interface ClockPorts {
  readonly client: Client;
  readonly log: Logger;
  /** Milliseconds since the epoch, by this machine's clock. */
  readonly now: () => number;
}

/**
 * How far this machine's clock is ahead of the API server's; 0 when that is unknown. The user who wrote a time into an object
 * can see the server's clock and not ours, and what is ended early cannot be brought back. The server answers in whole seconds,
 * so it may be up to one second further than this says. Costs a request: call it only when it matters.
 */
export async function clockAheadMs({ client, log, now }: ClockPorts, subject: KubeObject): Promise<number> {
  try {
    const { metadata } = await client.create(kubeEvents, probe(subject, now()), { dryRun: true });
    const answer = parseTime(metadata?.creationTimestamp ?? "");
    return "error" in answer ? 0 : Math.max(0, now() - (answer.epochMs + 999));
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    log.debug({ object: objectKey(subject), err: error }, "server clock unknown");
    return 0;
  }
}

/** Not stored: the answer to a dry run contains the server's time. */
function probe({ kind = "", metadata }: KubeObject, now: number): KubeEvent {
  const { name = "", namespace = "" } = metadata ?? {};
  return {
    metadata: { generateName: "time-", namespace },
    eventTime: new Date(now).toISOString().replace("Z", "000Z"),
    reportingController: "agent-sandbox-controller",
    reportingInstance: "agent-sandbox-controller",
    type: "Normal",
    reason: "TimeIsUp",
    action: "Expiring",
    regarding: { kind, name, namespace },
    note: "",
  };
}

/** Decides by the API server's clock, and translates `requeueAt` and `statusDueAt` back to this machine's. */
export function decideByServerClock<O extends { readonly clockAheadMs: number }, M, D extends Times>(
  decide: (observed: O, memory: M, now: number) => D,
): (observed: O, memory: M, now: number) => D {
  return (observed, memory, now) => {
    const { clockAheadMs: aheadMs } = observed;
    const decision = decide(observed, memory, now - aheadMs);
    if (aheadMs === 0) return decision;
    const { requeueAt, statusDueAt } = decision;
    return {
      ...decision,
      ...(requeueAt !== undefined && { requeueAt: requeueAt + aheadMs }),
      ...(statusDueAt !== undefined && { statusDueAt: statusDueAt + aheadMs }),
    };
  };
}

type Times = Pick<Decision<unknown, unknown, unknown>, "requeueAt" | "statusDueAt">;
