import { claims, Deadline, type KubeObject, sandboxes } from "@agent-sandbox/sdk/internal";
import type { Call, Caller } from "../caller.ts";
import { controllerOf, type FoundSandbox, holderOf } from "./found-sandbox.ts";
import { isForeign } from "./owner.ts";

const listMs = 20_000;

/** The sandboxes of a namespace that the caller may know about, by name. Members of pools are nobody's yet. */
export async function listSandboxes(
  { caller, signal }: Pick<Call, "caller" | "signal">,
  namespace: string,
): Promise<FoundSandbox[]> {
  using deadline = new Deadline({ signal }, listMs, "Cannot list sandboxes");
  const [allClaims, all] = await Promise.all([
    caller.api.list(claims, { namespace }, deadline),
    caller.api.list(sandboxes, { namespace }, deadline),
  ]);
  const byName = new Map(all.map((object) => [object.metadata.name, object]));
  const claimed = allClaims.map((claim): FoundSandbox => {
    const object = byName.get(claim.status?.sandbox?.name);
    return { name: claim.metadata.name ?? "", namespace, claim, ...(object && { object }) };
  });
  const single = all
    .filter((object) => controllerOf(object) === undefined)
    .map((object): FoundSandbox => ({ name: object.metadata.name ?? "", namespace, object }));
  return [...claimed, ...single]
    .filter((found) => isVisible(holderOf(found), caller))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Whether the caller may know about a claim or Sandbox, and it is not being deleted. */
export function isVisible(object: KubeObject, caller: Caller): boolean {
  return !isForeign(object, caller) && object.metadata.deletionTimestamp === undefined;
}
