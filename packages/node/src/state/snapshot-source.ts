import {
  isPodOfSandbox,
  type Pod,
  type Sandbox,
  type SandboxSnapshot,
  sandboxClaims,
  sandboxes,
  saveAnnotation,
  trackedPodName,
} from "@agent-sandbox/api";
import { type Client, isReason, type KubeObject, type Resource } from "@agent-sandbox/kube";
import type { Machine } from "../pod/machine.ts";
import { membersOf } from "../pod/members.ts";
import type { PodRecord } from "../pod/record.ts";
import { pods } from "../resources.ts";
import { StateError } from "./state-error.ts";

/** What a snapshot is taken of: a Sandbox that runs on this node, or one that is suspended. */
export type SnapshotSource =
  | { readonly sandbox: Sandbox; readonly pod: Pod; readonly record: PodRecord }
  | { readonly sandbox: Sandbox; readonly pod?: undefined };

type SourceMachine = Pick<Machine, "records">;

/**
 * Finds the source of a snapshot, in the namespace of the snapshot. Throws `SourceNotRunning` while there is nothing to capture: no
 * such Sandbox, or one that is starting, stopping or failing.
 */
export async function findSource(
  { machine, client }: { readonly machine: SourceMachine; readonly client: Client },
  snapshot: SandboxSnapshot,
): Promise<SnapshotSource> {
  const sandbox = await findSandbox(client, snapshot);
  const { namespace = "", uid = "" } = sandbox.metadata;
  const pod = await find(client, pods, namespace, trackedPodName(sandbox));
  if (pod === undefined) {
    if (await hasRecord(machine, uid)) throw notRunning(sandbox, "is being stopped");
    return { sandbox };
  }
  if (!isPodOfSandbox(sandbox, pod)) throw notRunning(sandbox, "has no Pod of its own");
  const { deletionTimestamp, annotations = {} } = pod.metadata ?? {};
  if (deletionTimestamp !== undefined || annotations[saveAnnotation] !== undefined) {
    throw notRunning(sandbox, "is being stopped");
  }
  const record = await machine.records.read(pod.metadata?.uid ?? "");
  if (record === undefined || !isRunning(pod, record)) throw notRunning(sandbox, "has no running Pod on this node");
  return { sandbox, pod, record };
}

async function findSandbox(client: Client, { metadata, spec }: SandboxSnapshot): Promise<Sandbox> {
  const { namespace = "" } = metadata;
  const name = spec.sandboxRef?.name ?? (await sandboxOfClaim(client, namespace, spec.claimRef?.name ?? ""));
  const sandbox = await find(client, sandboxes, namespace, name);
  if (sandbox !== undefined) return sandbox;
  throw new StateError("SourceNotRunning", `Cannot take a snapshot: there is no Sandbox "${name}"`);
}

async function sandboxOfClaim(client: Client, namespace: string, claim: string): Promise<string> {
  const found = await find(client, sandboxClaims, namespace, claim);
  const name = found?.status?.sandbox?.name;
  if (name !== undefined) return name;
  const why = found === undefined ? "does not exist" : "has no Sandbox yet";
  throw new StateError("SourceNotRunning", `Cannot take a snapshot: the SandboxClaim "${claim}" ${why}`);
}

async function find<T extends KubeObject>(
  client: Client,
  resource: Resource<T>,
  namespace: string,
  name: string,
): Promise<T | undefined> {
  return client.get(resource, { namespace, name }).catch((error: unknown) => {
    if (isReason(error, "NotFound")) return undefined;
    throw error;
  });
}

/** Whether a Pod of the Sandbox is still on this machine, although it may be gone from the API. */
async function hasRecord({ records }: SourceMachine, sandboxUid: string): Promise<boolean> {
  return [...(await records.list()).values()].some((record) => record?.keptFor === sandboxUid);
}

/** Whether all containers that run for the life of the Pod have started and none has ended. */
function isRunning(pod: Pod, { prepared, released, stoppingSince, containers }: PodRecord): boolean {
  if (!prepared || released === true || stoppingSince !== undefined) return false;
  return membersOf(pod)
    .filter(({ role }) => role === "main" || role === "sidecar")
    .every(({ container }) => {
      const { run, ended, stopping } = containers[container.name] ?? {};
      return run?.started === true && ended === undefined && stopping === undefined;
    });
}

function notRunning({ metadata: { name } }: Sandbox, why: string): StateError {
  return new StateError("SourceNotRunning", `Cannot take a snapshot: the Sandbox "${name}" ${why}`);
}
