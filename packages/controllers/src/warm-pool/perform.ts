import { controllerReference, launchTypeLabel, type Sandbox, sandboxes, sandboxWarmPools } from "@agent-sandbox/api";
import { isReason, type Pass } from "@agent-sandbox/kube";
import { guardOf, placeOf } from "../guard.ts";
import type { Action } from "./decide.ts";
import type { Observed } from "./observe.ts";
import { type Started, slowStart } from "./slow-start.ts";

/**
 * Performs one action on many members. The caches show its effect, so what is observed stays the same, unless something failed: then
 * it contains the error, and the remaining actions are performed all the same.
 */
export async function perform(
  action: Action,
  observed: Observed,
  { pass, atOnce }: { readonly pass: Pass; readonly atOnce: () => number },
): Promise<Observed> {
  const { error, succeeded } = await performOnMembers(action, observed, { pass, atOnce });
  if (error === undefined) return observed;
  const uncreated = action.do === "create" ? action.count - succeeded : 0;
  return { ...observed, failed: { error: observed.failed?.error ?? error, uncreated } };
}

function performOnMembers(
  action: Action,
  { pool }: Observed,
  { pass, atOnce }: { readonly pass: Pass; readonly atOnce: () => number },
): Promise<Started> {
  const { client, signal, ownWrite } = pass;
  const pace = { signal, atOnce };
  const each = (members: readonly Sandbox[], write: (member: Sandbox) => Promise<unknown>): Promise<Started> =>
    slowStart(members.length, (index) => write(members[index] as Sandbox).catch(ignoreChanged), pace);
  const patch = async (member: Sandbox, metadata: object): Promise<void> => {
    const change = { type: "merge", body: { metadata }, preconditions: guardOf(member) } as const;
    ownWrite(await client.patch(sandboxes, placeOf(member), change, { signal }));
  };
  const marked = { labels: { [launchTypeLabel]: "warm" } };
  switch (action.do) {
    case "delete":
      return each(action.members, (member) =>
        client.delete(sandboxes, placeOf(member), { preconditions: guardOf(member), signal }),
      );
    case "mark-warm":
      return each(action.members, (member) => patch(member, marked));
    case "adopt":
      return each(action.orphans, (orphan) => {
        const controller = controllerReference(sandboxWarmPools, pool);
        return patch(orphan, { ...marked, ownerReferences: [...(orphan.metadata.ownerReferences ?? []), controller] });
      });
    case "create":
      return slowStart(
        action.count,
        async () => ownWrite(await client.create(sandboxes, action.member, { signal })),
        pace,
      );
    default:
      return action satisfies never;
  }
}

/** A member that was claimed, changed or deleted since the decision is left to the next pass. */
function ignoreChanged(error: unknown): void {
  if (!isReason(error, "Conflict", "NotFound")) throw error;
}
