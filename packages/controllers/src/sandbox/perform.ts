import {
  type PersistentVolumeClaim,
  type Pod,
  podNameAnnotation,
  type Sandbox,
  type Service,
  sandboxes,
} from "@agent-sandbox/api";
import {
  type ActionFailure,
  type Client,
  isReason,
  KubeError,
  type KubeObject,
  type KubeReason,
  type Pass,
  type Preconditions,
  type Resource,
} from "@agent-sandbox/kube";
import { pods, services, volumeClaims } from "../child-caches.ts";
import { guardOf, ignoreNotFound, placeOf } from "../guard.ts";
import { writeStatus } from "../write-status.ts";
import { type Action, type Child, stepOf, type Target } from "./action.ts";
import { isUsable, standingOf, strangerProblem } from "./adoption.ts";
import { owns, type Snapshot } from "./observed.ts";
import { ensureToken } from "./runtime-token.ts";
import { headlessProblem } from "./service.ts";

const resources: Readonly<Record<Child, Resource>> = { pod: pods, service: services, volumeClaim: volumeClaims };

type Writer = Pick<Pass, "client" | "ownWrite" | "signal">;

/** Returns what is observed after the action; undefined if the Sandbox is gone. */
export async function perform(action: Action, observed: Snapshot, writer: Writer): Promise<Snapshot | undefined> {
  const { client } = writer;
  switch (action.do) {
    case "create":
      return withChild(observed, action.child, await createOrFind(writer, observed, action));
    case "patch":
      return patchChild(writer, observed, action);
    case "delete":
      return deleteChild(client, observed, action);
    case "ensure-token":
      await ensureToken(client, observed.sandbox);
      return observed;
    case "track-pod":
      return { ...observed, sandbox: await trackPod(writer, observed.sandbox, action.podName) };
    case "report": {
      const sandbox = await writeStatus(sandboxes, observed.sandbox, action.status, writer);
      return sandbox && { ...observed, sandbox };
    }
    case "patch-sandbox":
      return { ...observed, sandbox: await patchSandbox(client, observed.sandbox, action.body) };
    case "delete-sandbox":
      return { ...observed, sandbox: await deleteSandbox(client, observed.sandbox) };
    default:
      return action satisfies never;
  }
}

/** An object that already exists may be the Sandbox's own, or one that it may adopt. */
async function createOrFind(
  { client, ownWrite }: Writer,
  { sandbox }: Snapshot,
  { child, object }: Action & { do: "create" },
): Promise<KubeObject> {
  const resource: Resource = resources[child];
  try {
    return ownWrite(await client.create(resource, object, { fieldManager: "sandbox-controller" }));
  } catch (error) {
    if (!isReason(error, "AlreadyExists")) throw error;
    const found = await client.get(resource, placeOf(object));
    const problem = whyUnusable(sandbox, child, found);
    if (problem === undefined) return found;
    // The cache may be filtered and never show this object. The retries with backoff notice when it is gone.
    throw new KubeError("AlreadyExists", problem, { cause: error });
  }
}

function whyUnusable(sandbox: Sandbox, child: Child, found: KubeObject): string | undefined {
  const standing = standingOf(sandbox, found);
  if (!isUsable(standing)) return strangerProblem(resources[child].kind, found);
  return child === "service" && standing === "adoptable" ? headlessProblem(found as Service) : undefined;
}

async function patchChild(
  { client, ownWrite }: Writer,
  observed: Snapshot,
  { child, target, body }: Action & { do: "patch" },
): Promise<Snapshot> {
  const patch = { type: "merge", body, preconditions: preconditions(target) } as const;
  // The same manager as for the create: moving a field to another manager costs the server more than the change itself.
  const options = { fieldManager: "sandbox-controller" };
  try {
    return withChild(
      observed,
      child,
      ownWrite(await client.patch(resources[child], keyIn(observed, target), patch, options)),
    );
  } catch (error) {
    if (!isReason(error, "NotFound")) throw error;
    return withoutChild(observed, child, target);
  }
}

async function deleteChild(
  client: Client,
  observed: Snapshot,
  { child, target, atOnce }: Action & { do: "delete" },
): Promise<Snapshot> {
  const options = { preconditions: preconditions(target), ...(atOnce && { gracePeriodSeconds: 0 }) };
  try {
    const held = await client.delete(resources[child], keyIn(observed, target), options);
    if (held !== undefined && isHeld(held)) return withChild(observed, child, held);
  } catch (error) {
    if (!isReason(error, "NotFound")) throw error;
  }
  return withoutChild(observed, child, target);
}

/** Whether a deleted object still exists: the answer to a deletion may also be the last state of an object that is gone. */
function isHeld({ metadata }: KubeObject): boolean {
  return (metadata?.finalizers?.length ?? 0) > 0 || (metadata?.deletionGracePeriodSeconds ?? 0) > 0;
}

async function trackPod({ client, ownWrite }: Writer, sandbox: Sandbox, podName: string | null): Promise<Sandbox> {
  const body = { metadata: { annotations: { [podNameAnnotation]: podName } } };
  const patch = { type: "merge", body, preconditions: guardOf(sandbox) } as const;
  const answer = await client.patch(sandboxes, placeOf(sandbox), patch);
  // Without the annotation another name is tracked, and the pass has not observed the Pod with that name.
  return podName === null ? answer : ownWrite(answer);
}

function patchSandbox(client: Client, sandbox: Sandbox, body: object): Promise<Sandbox> {
  const patch = { type: "merge", body, preconditions: guardOf(sandbox) } as const;
  return client.patch(sandboxes, placeOf(sandbox), patch);
}

/** Only at the version that was observed: a Sandbox that was used or changed since stays. */
async function deleteSandbox(client: Client, sandbox: Sandbox): Promise<Sandbox> {
  await client.delete(sandboxes, placeOf(sandbox), { preconditions: guardOf(sandbox) }).catch(ignoreNotFound);
  return { ...sandbox, metadata: { ...sandbox.metadata, deletionTimestamp: "now" } };
}

function preconditions({ uid, resourceVersion }: Target): Preconditions {
  return { uid, ...(resourceVersion !== undefined && { resourceVersion }) };
}

function keyIn({ sandbox }: Snapshot, { name }: Target): { namespace: string; name: string } {
  return { namespace: sandbox.metadata.namespace ?? "", name };
}

function withChild(observed: Snapshot, child: Child, object: KubeObject): Snapshot {
  switch (child) {
    case "service":
      return { ...observed, service: object as Service };
    case "volumeClaim": {
      const claim = object as PersistentVolumeClaim;
      return { ...observed, volumeClaims: new Map(observed.volumeClaims).set(claim.metadata?.name ?? "", claim) };
    }
    default: {
      const others = observed.pods.filter(({ metadata }) => metadata?.uid !== object.metadata?.uid);
      const pod = object as Pod;
      return { ...observed, trackedPod: pod, pods: owns(observed.sandbox, pod) ? [...others, pod] : others };
    }
  }
}

function withoutChild(observed: Snapshot, child: Child, target: Target): Snapshot {
  switch (child) {
    case "service":
      return { ...observed, service: undefined };
    case "volumeClaim": {
      const volumeClaims = new Map(observed.volumeClaims);
      volumeClaims.delete(target.name);
      return { ...observed, volumeClaims };
    }
    default: {
      const isOther = ({ metadata }: Pod): boolean => metadata?.uid !== target.uid;
      const trackedPod = observed.trackedPod && isOther(observed.trackedPod) ? observed.trackedPod : undefined;
      return { ...observed, trackedPod, pods: observed.pods.filter(isOther) };
    }
  }
}

/** Explains a failed action to the engine. Errors that do not come from the API server end the pass. */
export function failed(error: unknown, action: Action, observed: Snapshot): ActionFailure<Snapshot> {
  if (!(error instanceof KubeError)) throw error;
  const { reason, message } = error;
  // The object is not the one that the decision was made on, so nothing can be reported about it.
  if (reason === "Conflict") return { observed: undefined, retry: true };
  const retry = !refusedAgain.has(reason);
  const isPassing = retry && !lasting.has(reason);
  const failures = [...observed.failures, { step: stepOf(action), message, isPassing, isInvalid: !retry }];
  return { observed: { ...observed, failures }, retry };
}

/** The same request would be refused again. Only a change of the Sandbox helps, and that enqueues it. */
const refusedAgain: ReadonlySet<KubeReason> = new Set(["Invalid", "BadRequest", "RequestEntityTooLarge"]);
/** Retried, but not likely to succeed soon. */
const lasting: ReadonlySet<KubeReason> = new Set(["Forbidden", "NotFound", "AlreadyExists"]);
