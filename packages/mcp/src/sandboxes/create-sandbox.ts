import { randomUUID } from "node:crypto";
import { isSandboxError, SandboxError } from "@agent-sandbox/sdk";
import {
  type ClaimObject,
  claims,
  Deadline,
  isClaimed,
  isReady,
  type KubeObject,
  type ObjectName,
  type Resource,
  type SandboxObject,
  sandboxes,
  type Verdict,
  waitFor,
} from "@agent-sandbox/sdk/internal";
import type { Call } from "../caller.ts";
import { findSandbox } from "./find-sandbox.ts";
import { type FoundSandbox, holderOf } from "./found-sandbox.ts";
import { pauseAtDeadline } from "./lifetime.ts";
import { claimOfPool, type NewSandbox, sandboxOfImage } from "./new-objects.ts";
import { isReserved } from "./owner.ts";
import { poolOfTemplate } from "./pool-of-template.ts";

export interface CreateSandbox extends Omit<NewSandbox, "name"> {
  readonly name?: string | undefined;
  readonly template?: string | undefined;
  readonly image?: string | undefined;
  /** How long to wait until the sandbox can be used. Then it is returned as it is. */
  readonly waitMs: number;
}

const requestMs = 60_000;

/**
 * Creates a sandbox, or returns the caller's sandbox of that name. One that will not become ready, and one whose creation is
 * cancelled, is deleted again.
 */
export async function createSandbox(call: Call, namespace: string, wanted: CreateSandbox): Promise<FoundSandbox> {
  const name = wanted.name ?? `sandbox-${randomUUID().slice(0, 8)}`;
  checkLabels(wanted.labels ?? {});
  const existing = wanted.name === undefined ? undefined : await findSandbox(call, { namespace, name });
  if (existing !== undefined) return untilReady(call, existing, wanted.waitMs);
  const created = await createObject(call, namespace, { ...wanted, name }).catch(async (error: unknown) => {
    if (!isSandboxError(error, "AlreadyExists")) throw error;
    return { taken: await takenName(call, { namespace, name }, error) };
  });
  if ("taken" in created) return untilReady(call, created.taken, wanted.waitMs);
  try {
    const found = await untilReady(call, created, wanted.waitMs);
    if (wanted.onTimeout === "pause") await pauseAtDeadline(call, found, wanted.timeoutSeconds);
    return found;
  } catch (error) {
    await remove(call, created).catch(() => undefined);
    throw error;
  }
}

/** Another call of the caller has created it in the meantime, or the name belongs to somebody else. */
async function takenName(call: Call, place: ObjectName, cause: unknown): Promise<FoundSandbox> {
  const found = await findSandbox(call, place);
  if (found !== undefined) return found;
  throw new SandboxError("AlreadyExists", `Cannot create sandbox "${place.name}": the name is taken`, { cause });
}

async function createObject(
  call: Call,
  namespace: string,
  wanted: CreateSandbox & { name: string },
): Promise<FoundSandbox> {
  const { caller } = call;
  const { name } = wanted;
  // Not the signal of the call: if it is cancelled now, the object must be known to be deleted.
  using deadline = new Deadline({}, requestMs, `Cannot create sandbox "${name}"`);
  const place = { caller, namespace };
  const source = sourceOf(call, wanted);
  if ("image" in source) {
    const object = await caller.api.create(sandboxes, sandboxOfImage(place, source.image, wanted), deadline);
    return { name, namespace, object };
  }
  const { template } = source;
  const pool = await poolOfTemplate(caller.api, { namespace, name: template }, deadline);
  const claim = await caller.api.create(claims, claimOfPool(place, { pool, template }, wanted), deadline);
  return { name, namespace, claim };
}

function sourceOf({ settings }: Call, { template, image }: CreateSandbox): { template: string } | { image: string } {
  if (template !== undefined && image !== undefined) {
    throw new SandboxError("InvalidArgument", "Cannot create a sandbox: name a template or an image, not both");
  }
  if (template !== undefined) return { template };
  const source = image === undefined ? settings.source : { image };
  if (source !== undefined) return source;
  throw new SandboxError(
    "InvalidArgument",
    "Cannot create a sandbox: name a template or an image; list_templates lists the templates",
  );
}

function checkLabels(labels: Readonly<Record<string, string>>): void {
  const reserved = Object.keys(labels).find(isReserved);
  if (reserved === undefined) return;
  throw new SandboxError("InvalidArgument", `Cannot create a sandbox: the label "${reserved}" is reserved`);
}

/** The sandbox when it can be used, or as it is when the time is over. Rejects if it will not become ready. */
export async function untilReady(call: Call, found: FoundSandbox, waitMs: number): Promise<FoundSandbox> {
  const { name, namespace, claim, object } = found;
  const doing = `Cannot start sandbox "${name}"`;
  if (waitMs > 0) {
    call.progress("waiting until the sandbox is ready");
    using deadline = new Deadline({ signal: call.signal }, waitMs, doing);
    const wait = { name: { namespace, name }, deadline, doing };
    try {
      if (object === undefined) {
        const from = claim && { from: claim };
        await waitFor(call.caller.api, { ...wait, resource: claims, judge: tell(call, isClaimed), ...from });
      } else if (object.spec.operatingMode !== "Suspended" && claim === undefined) {
        await waitFor(call.caller.api, { ...wait, resource: sandboxes, judge: tell(call, isReady), from: object });
      }
    } catch (error) {
      if (call.signal.aborted || !isSandboxError(error, "Starting")) throw error;
    }
  }
  return (await findSandbox(call, { namespace, name })) ?? found;
}

/** Reports what the sandbox waits for. */
function tell<T extends ClaimObject | SandboxObject, V>(
  { progress }: Call,
  judge: (object: T) => Verdict<V>,
): (object: T) => Verdict<V> {
  return (object) => {
    const verdict = judge(object);
    if (verdict.type === "waiting") progress(verdict.why);
    return verdict;
  };
}

/** Deletes this object, also when the call was cancelled. Succeeds if it is already gone. */
export async function remove({ caller }: Pick<Call, "caller">, found: FoundSandbox): Promise<void> {
  const { name = "", uid } = holderOf(found).metadata;
  using deadline = new Deadline({}, requestMs, `Cannot delete sandbox "${found.name}"`);
  const target = { namespace: found.namespace, name, uid };
  const resource: Resource<KubeObject> = found.claim === undefined ? sandboxes : claims;
  await caller.api.delete(resource, target, deadline);
}
