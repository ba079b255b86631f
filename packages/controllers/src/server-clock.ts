import { parseTime } from "@agent-sandbox/api";
import {
  type Client,
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
 * How much this machine's clock is ahead of the API server's; 0 when nobody can tell. Whoever wrote a time into an object can
 * see the server's clock and not ours, and what ends early cannot be brought back. The server gives whole seconds, so that it
 * may be up to one second later than this knows. Costs a request: ask only when it matters.
 */
export async function clockErrorMs({ client, log, now }: ClockPorts, subject: KubeObject): Promise<number> {
  try {
    const { metadata } = await client.create(kubeEvents, probe(subject, now()), { dryRun: true });
    const answer = parseTime(metadata?.creationTimestamp ?? "");
    return "error" in answer ? 0 : Math.max(0, now() - (answer.epochMs + 999));
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    log.debug({ object: objectKey(subject), err: error }, "server's clock not known");
    return 0;
  }
}

/** Never stored: a dry run of anything answers with the server's time. */
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
