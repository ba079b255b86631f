import { setTimeout as sleep } from "node:timers/promises";
import { isConditionTrue, type Pod } from "@agent-sandbox/api";
import { isReason, type KubeObject } from "@agent-sandbox/kube/requests";
import type { Connection } from "../client/connect.ts";
import { troubleOf } from "../client/pod-trouble.ts";
import type { Progress } from "../client/progress.ts";
import { CommandError } from "../command-error.ts";
import { definitions, deployments, pods } from "./resources.ts";

const lookEveryMs = 500;

interface Rollout extends KubeObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
  };
}

interface Definition extends KubeObject {
  readonly status?: { readonly conditions?: Parameters<typeof isConditionTrue>[0] };
}

/** What a wait for an object shows and when it ends. */
interface Waiting {
  readonly timeoutMs: number;
  readonly progress: Progress;
}

/** Waits until the server serves the kinds. */
export async function awaitDefinitions(
  { client }: Connection,
  names: readonly string[],
  waiting: Waiting,
): Promise<void> {
  for (const name of names) {
    await until(waiting, `CRD "${name}" to be established`, async () => {
      const { status } = (await client.get(definitions, { name })) as Definition;
      return isConditionTrue(status?.conditions, "Established") ? undefined : "not established yet";
    });
  }
}

/** Waits until all replicas of a Deployment run the current template. A timeout says what is wrong with its Pods. */
export async function awaitRollout(
  connection: Connection,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  waiting: Waiting,
): Promise<void> {
  await until(waiting, `Deployment "${name}" to be ready`, async () => {
    const live = (await connection.client.get(deployments, { namespace, name })) as Rollout;
    const wanted = live.spec?.replicas ?? 1;
    const { observedGeneration = 0, replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = live.status ?? {};
    if (observedGeneration < (live.metadata?.generation ?? 0)) return "the cluster has not started it";
    if (updatedReplicas >= wanted && replicas === updatedReplicas && availableReplicas >= wanted) return undefined;
    const trouble = await troubleOfPods(connection, namespace, name);
    return `${availableReplicas} of ${wanted} replicas are ready${trouble === undefined ? "" : `; ${trouble}`}`;
  });
}

async function troubleOfPods({ client }: Connection, namespace: string, app: string): Promise<string | undefined> {
  const { items } = await client.list(pods, { namespace, labelSelector: `app=${app}` });
  return items.map((pod) => troubleOf(pod as Pod)).find((trouble) => trouble !== undefined);
}

/** `look` returns what is missing, or undefined. */
async function until(
  { timeoutMs, progress }: Waiting,
  what: string,
  look: () => Promise<string | undefined>,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const why = await look().catch((error: unknown) => {
      // The server may not know a new object yet, and may be restarted meanwhile.
      if (isReason(error, "NotFound", "Unreachable", "Interrupted", "ServiceUnavailable")) return error.message;
      throw error;
    });
    if (why === undefined) return;
    if (performance.now() > deadline) {
      throw new CommandError(
        `timed out after ${timeoutMs / 1000} s waiting for ${what}: ${why}; what was applied stays, and the same command continues`,
      );
    }
    progress.show(`waiting for ${what}: ${why}`);
    await sleep(lookEveryMs);
  }
}
