import { setTimeout as sleep } from "node:timers/promises";
import { type Pod, sandboxes, trackedPodName } from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube/requests";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { displayName } from "../client/discovery.ts";
import { findSandbox } from "../client/find-sandbox.ts";
import { troubleOf } from "../client/pod-trouble.ts";
import { Progress } from "../client/progress.ts";
import { whyAsleep } from "../client/sandbox-pod.ts";
import { pods } from "../client/until-running.ts";
import { parseDuration } from "../client/wait-condition.ts";
import { CommandError } from "../command-error.ts";

export interface RestartOptions extends GlobalOptions {
  readonly timeout: string;
}

const lookEveryMs = 250;

/** Replaces the Pods of sandboxes, so that they run their present spec. Files, volumes and the address stay; processes end. */
export async function restart(names: readonly string[], options: RestartOptions): Promise<void> {
  const timeoutMs = parseDuration(options.timeout);
  await using connection = await connect(options);
  for (const name of names) {
    const sandbox = await findSandbox(connection, name);
    const asleep = whyAsleep(sandbox);
    if (asleep !== undefined)
      throw new CommandError(`sandbox "${name}" is suspended, and starts with its present spec: ${asleep}`);
    await replacePod(connection, trackedPodName(sandbox), { name, timeoutMs });
    console.log(`${displayName(sandboxes, sandbox.metadata.name ?? "")} restarted`);
  }
}

async function replacePod(
  { client, namespace }: Connection,
  pod: string,
  { name, timeoutMs }: { readonly name: string; readonly timeoutMs: number },
): Promise<void> {
  const read = async (): Promise<Pod | undefined> => {
    try {
      return await client.get(pods, { name: pod, namespace });
    } catch (error) {
      if (isReason(error, "NotFound")) return undefined;
      throw error;
    }
  };
  const old = (await read())?.metadata?.uid;
  if (old !== undefined) await client.delete(pods, { name: pod, namespace }, { preconditions: { uid: old } });
  using progress = new Progress();
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const present = await read();
    const isNew = present !== undefined && present.metadata?.uid !== old;
    if (isNew && present.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True")) return;
    const why = isNew ? (troubleOf(present) ?? "starting") : "stopping";
    if (Date.now() > deadline)
      throw new CommandError(`timed out after ${timeoutMs / 1000} s waiting for sandbox "${name}": ${why}`);
    progress.show(`sandbox "${name}": ${why}`);
    await sleep(lookEveryMs);
  }
}
