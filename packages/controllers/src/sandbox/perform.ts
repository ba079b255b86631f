import {
  type PersistentVolumeClaim,
  type Pod,
  podNameAnnotation,
  type Sandbox,
  type Service,
  sandboxes,
} from "@agent-sandbox/api";
import {
  type Client,
  isReason,
  KubeError,
  type KubeObject,
  type Preconditions,
  type Resource,
} from "@agent-sandbox/kube";
import { pods, services, volumeClaims } from "../child-caches.ts";
import { guardOf, ignoreNotFound, placeOf } from "../guard.ts";
import type { Action, Child, Target } from "./action.ts";
import { isUsable, standingOf, strangerProblem } from "./adoption.ts";
import { type Observed, owns } from "./observed.ts";
import { ensureToken } from "./runtime-token.ts";
import { headlessProblem } from "./service.ts";

const resources: Readonly<Record<Child, Resource>> = { pod: pods, service: services, volumeClaim: volumeClaims };

export interface Writer {
  readonly client: Client;
  /** Told of answers that the pass takes into account whole: their events are no news. */
  readonly remember: <T extends KubeObject>(answer: T) => T;
}

/** Carries out one action, and returns what is known after its answer. */
export async function perform(writer: Writer, seen: Observed, action: Action): Promise<Observed> {
  const { client } = writer;
  switch (action.do) {
    case "create":
      return withChild(seen, action.child, await createOrFind(writer, seen, action));
    case "patch":
      return patchChild(writer, seen, action);
    case "delete":
      return deleteChild(client, seen, action);
    case "ensure-token":
      await ensureToken(client, seen.sandbox);
      return seen;
    case "track-pod":
      return { ...seen, sandbox: await trackPod(writer, seen.sandbox, action.podName) };
    case "delete-sandbox":
      return { ...seen, sandbox: await deleteSandbox(client, seen.sandbox) };
    default:
      return action satisfies never;
  }
}

/** What stands in the way is looked at, not assumed: it may be ours, or ours to adopt. */
async function createOrFind(
  { client, remember }: Writer,
  { sandbox }: Observed,
  { child, object }: Action & { do: "create" },
): Promise<KubeObject> {
  const resource: Resource = resources[child];
  try {
    return remember(await client.create(resource, object, { fieldManager: "sandbox-controller" }));
  } catch (error) {
    if (!isReason(error, "AlreadyExists")) throw error;
    const found = await client.get(resource, placeOf(object));
    const problem = whyUnusable(sandbox, child, found);
    if (problem === undefined) return found;
    // A cache may never show what is in the way; tried again less and less often, it is found gone some day.
    throw new KubeError("AlreadyExists", problem, { cause: error });
  }
}

function whyUnusable(sandbox: Sandbox, child: Child, found: KubeObject): string | undefined {
  const standing = standingOf(sandbox, found);
  if (!isUsable(standing)) return strangerProblem(resources[child].kind, found);
  return child === "service" && standing === "adoptable" ? headlessProblem(found as Service) : undefined;
}

async function patchChild(
  { client, remember }: Writer,
  seen: Observed,
  { child, target, body }: Action & { do: "patch" },
): Promise<Observed> {
  const patch = { type: "merge", body, preconditions: preconditions(target) } as const;
  // Who made it is who changes it: a field that moves to another manager costs the server more than the change.
  const options = { fieldManager: "sandbox-controller" };
  try {
    return withChild(seen, child, remember(await client.patch(resources[child], keyIn(seen, target), patch, options)));
  } catch (error) {
    if (!isReason(error, "NotFound")) throw error;
    return withoutChild(seen, child, target);
  }
}

async function deleteChild(
  client: Client,
  seen: Observed,
  { child, target }: Action & { do: "delete" },
): Promise<Observed> {
  const options = { preconditions: preconditions(target) };
  try {
    const held = await client.delete(resources[child], keyIn(seen, target), options);
    if (held !== undefined && isHeld(held)) return withChild(seen, child, held);
  } catch (error) {
    if (!isReason(error, "NotFound")) throw error;
  }
  return withoutChild(seen, child, target);
}

/** Whether a deleted object is still there: the answer to a deletion may also be what the object was last. */
function isHeld({ metadata }: KubeObject): boolean {
  return (metadata?.finalizers?.length ?? 0) > 0 || (metadata?.deletionGracePeriodSeconds ?? 0) > 0;
}

async function trackPod({ client, remember }: Writer, sandbox: Sandbox, podName: string | null): Promise<Sandbox> {
  const body = { metadata: { annotations: { [podNameAnnotation]: podName } } };
  const patch = { type: "merge", body, preconditions: guardOf(sandbox) } as const;
  const answer = await client.patch(sandboxes, placeOf(sandbox), patch);
  // Without the note another name counts, and nobody has looked what is there.
  return podName === null ? answer : remember(answer);
}

/** Only as it was looked at: whoever used or changed it since has saved it. */
async function deleteSandbox(client: Client, sandbox: Sandbox): Promise<Sandbox> {
  await client.delete(sandboxes, placeOf(sandbox), { preconditions: guardOf(sandbox) }).catch(ignoreNotFound);
  return { ...sandbox, metadata: { ...sandbox.metadata, deletionTimestamp: "now" } };
}

function preconditions({ uid, resourceVersion }: Target): Preconditions {
  return { uid, ...(resourceVersion !== undefined && { resourceVersion }) };
}

function keyIn({ sandbox }: Observed, { name }: Target): { namespace: string; name: string } {
  return { namespace: sandbox.metadata.namespace ?? "", name };
}

function withChild(seen: Observed, child: Child, object: KubeObject): Observed {
  switch (child) {
    case "service":
      return { ...seen, service: object as Service };
    case "volumeClaim": {
      const claim = object as PersistentVolumeClaim;
      return { ...seen, volumeClaims: new Map(seen.volumeClaims).set(claim.metadata?.name ?? "", claim) };
    }
    default: {
      const others = seen.pods.filter(({ metadata }) => metadata?.uid !== object.metadata?.uid);
      const pod = object as Pod;
      return { ...seen, trackedPod: pod, pods: owns(seen.sandbox, pod) ? [...others, pod] : others };
    }
  }
}

function withoutChild(seen: Observed, child: Child, target: Target): Observed {
  switch (child) {
    case "service":
      return { ...seen, service: undefined };
    case "volumeClaim": {
      const volumeClaims = new Map(seen.volumeClaims);
      volumeClaims.delete(target.name);
      return { ...seen, volumeClaims };
    }
    default: {
      const isOther = ({ metadata }: Pod): boolean => metadata?.uid !== target.uid;
      const trackedPod = seen.trackedPod && isOther(seen.trackedPod) ? seen.trackedPod : undefined;
      return { ...seen, trackedPod, pods: seen.pods.filter(isOther) };
    }
  }
}
