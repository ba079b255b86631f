import {
  controllerReference,
  launchTypeLabel,
  mergePatch,
  type Sandbox,
  type SandboxWarmPoolStatus,
  sandboxes,
  sandboxWarmPools,
} from "@agent-sandbox/api";
import type { OwnWrites } from "@agent-sandbox/kube";
import { type Client, isReason, type Note } from "@agent-sandbox/kube";
import { errorText } from "../error-text.ts";
import { guardOf, ignoreNotFound, placeOf } from "../guard.ts";

import { type Action, type Decision, decide } from "./decide.ts";
import type { Observed, PoolMemory } from "./observe.ts";
import { type Started, slowStart } from "./slow-start.ts";

export interface PoolPorts {
  readonly client: Client;
  readonly ownWrites: OwnWrites;
  readonly signal: AbortSignal;
  /** How many members may be written at the same time now. Default: `mostAtOnce`. */
  readonly atOnce?: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly tell: (note: Note) => void;
}

export interface PoolPass {
  readonly memory: PoolMemory;
  readonly wakeAt?: number | undefined;
  /** What to throw once the memory is kept. */
  readonly error?: unknown;
}

/** Carries out what is decided about one pool and reports, whatever of it failed. */
export async function reconcilePool(ports: PoolPorts, seen: Observed): Promise<PoolPass> {
  const decision = decide(seen, ports.now());
  for (const note of decision.notes) ports.tell(note);
  let error: unknown;
  let unmade = 0;
  for (const action of decision.actions) {
    const started = await perform(ports, seen, action);
    if (action.do === "create") unmade = action.count - started.succeeded;
    error ??= started.error;
  }
  const unreported = await report(ports, seen, decisionAfter(seen, decision, { error, now: ports.now() }));
  return { memory: withoutUnmade(decision.memory, unmade), wakeAt: decision.wakeAt, error: error ?? unreported };
}

/** The memory counts on every create; those that failed are no members that left. */
function withoutUnmade(memory: PoolMemory, unmade: number): PoolMemory {
  const { refill } = memory;
  return refill?.lastCount === undefined
    ? memory
    : { ...memory, refill: { ...refill, lastCount: refill.lastCount - unmade } };
}

/** What failed belongs in the status. */
function decisionAfter(seen: Observed, decision: Decision, { error, now }: { error: unknown; now: number }): Decision {
  if (error === undefined) return decision;
  return decide({ ...seen, failure: errorText(error) }, now);
}

function perform(ports: PoolPorts, seen: Observed, action: Action): Promise<Started> {
  const { client, ownWrites, signal } = ports;
  const pace = { signal, ...(ports.atOnce && { atOnce: ports.atOnce }) };
  const each = (members: readonly Sandbox[], write: (member: Sandbox) => Promise<unknown>): Promise<Started> =>
    slowStart(members.length, (index) => write(members[index] as Sandbox).catch(changedIsFine), pace);
  const patch = async (member: Sandbox, metadata: object): Promise<void> => {
    const change = { type: "merge", body: { metadata }, preconditions: guardOf(member) } as const;
    ownWrites.remember(await client.patch(sandboxes, placeOf(member), change, { signal }));
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
        const controller = controllerReference(sandboxWarmPools, seen.pool);
        return patch(orphan, { ...marked, ownerReferences: [...(orphan.metadata.ownerReferences ?? []), controller] });
      });
    case "create":
      return slowStart(
        action.count,
        async () => ownWrites.remember(await client.create(sandboxes, action.member, { signal })),
        pace,
      );
    default:
      return action satisfies never;
  }
}

/** A member that was claimed, changed or removed since it was seen is none of this pass's business. */
function changedIsFine(error: unknown): void {
  if (!isReason(error, "Conflict", "NotFound")) throw error;
}

/** Undefined when all is well. A pool that changed meanwhile gets another pass. */
async function report(ports: PoolPorts, { pool }: Observed, { status }: Decision): Promise<unknown> {
  const change = status && mergePatch(pool.status ?? {}, status);
  if (change === undefined) return undefined;
  try {
    await writeStatus(ports, pool, change);
    return undefined;
  } catch (error) {
    return isReason(error, "Conflict") ? undefined : error;
  }
}

async function writeStatus(
  { client, ownWrites, signal }: PoolPorts,
  pool: Observed["pool"],
  status: Partial<SandboxWarmPoolStatus>,
): Promise<void> {
  const patch = { type: "merge", body: { status }, preconditions: guardOf(pool) } as const;
  const answer = await client
    .patch(sandboxWarmPools, placeOf(pool), patch, { subresource: "status", signal })
    .catch(ignoreNotFound);
  if (answer !== undefined) ownWrites.remember(answer);
}
