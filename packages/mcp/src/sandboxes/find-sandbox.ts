import { isSandboxError } from "@agent-sandbox/sdk";
import {
  claims,
  Deadline,
  type KubeObject,
  type ObjectName,
  type Resource,
  sandboxes,
} from "@agent-sandbox/sdk/internal";
import type { Call } from "../caller.ts";
import { controllerOf, type FoundSandbox } from "./found-sandbox.ts";
import { isForeign } from "./owner.ts";

const lookupMs = 20_000;

/** A sandbox that the caller may know about. Undefined if there is none, or if another user's tools created it. */
export async function findSandbox(call: Call, { namespace, name }: ObjectName): Promise<FoundSandbox | undefined> {
  const { caller, signal } = call;
  using deadline = new Deadline({ signal }, lookupMs, `Cannot find sandbox "${name}"`);
  const { api } = caller;
  const get = <T extends KubeObject>(resource: Resource<T>, wanted: string): Promise<T | undefined> =>
    ignoreMissing(api.get(resource, { namespace, name: wanted }, deadline));
  const [claim, named] = await Promise.all([get(claims, name), get(sandboxes, name)]);
  if (claim !== undefined) {
    if (isForeign(claim, caller) || claim.metadata.deletionTimestamp !== undefined) return undefined;
    const bound = claim.status?.sandbox?.name;
    const object = bound === undefined || bound === name ? named : await get(sandboxes, bound);
    return { name, namespace, claim, ...(object && bound !== undefined && { object }) };
  }
  if (named === undefined || isForeign(named, caller) || named.metadata.deletionTimestamp !== undefined)
    return undefined;
  const controller = controllerOf(named);
  if (controller?.kind === "SandboxClaim") return await findSandbox(call, { namespace, name: controller.name });
  // The members of a pool are nobody's yet.
  return controller?.kind === "SandboxWarmPool" ? undefined : { name, namespace, object: named };
}

export async function ignoreMissing<T>(wanted: Promise<T>): Promise<T | undefined> {
  try {
    return await wanted;
  } catch (error) {
    if (isSandboxError(error, "NotFound")) return undefined;
    throw error;
  }
}
