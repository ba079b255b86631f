import { findCondition, parseTime, type Sandbox } from "@agent-sandbox/api";
import { type Client, KubeError, type KubeEvent, kubeEvents, type Logger, objectKey } from "@agent-sandbox/kube";
import { shutdownAt } from "./expiry.ts";

export interface ClockPorts {
  readonly client: Client;
  readonly log: Logger;
  /** Milliseconds since the epoch, by this machine's clock. */
  readonly now: () => number;
}

/**
 * How much this machine's clock is ahead of the API server's, where that matters: when a Sandbox's time seems to be up.
 * Whoever wrote `shutdownTime` can see the server's clock and not ours, and what expires early cannot be brought back. The
 * server gives whole seconds, so that it may be up to one second later than this knows.
 */
export async function clockErrorMs({ client, log, now }: ClockPorts, sandbox: Sandbox): Promise<number> {
  const expiresAt = shutdownAt(sandbox);
  const isMarked = findCondition(sandbox.status?.conditions, "Ready")?.reason === "SandboxExpired";
  if (expiresAt === undefined || now() < expiresAt || isMarked || sandbox.metadata.deletionTimestamp !== undefined)
    return 0;
  try {
    const { metadata } = await client.create(kubeEvents, probe(sandbox, now()), { dryRun: true });
    const answer = parseTime(metadata?.creationTimestamp ?? "");
    return "error" in answer ? 0 : Math.max(0, now() - (answer.epochMs + 999));
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    log.debug({ sandbox: objectKey(sandbox), err: error }, "server's clock not known");
    return 0;
  }
}

/** Never stored: a dry run of anything answers with the server's time. */
function probe({ metadata }: Sandbox, now: number): KubeEvent {
  const { name = "", namespace = "" } = metadata;
  return {
    metadata: { generateName: "time-", namespace },
    eventTime: new Date(now).toISOString().replace("Z", "000Z"),
    reportingController: "sandbox-controller",
    reportingInstance: "sandbox-controller",
    type: "Normal",
    reason: "TimeIsUp",
    action: "Expiring",
    regarding: { kind: "Sandbox", name, namespace },
    note: "",
  };
}
