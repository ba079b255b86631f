import type { Pod, PodStatus } from "@agent-sandbox/api";
import { messageOf, NodeError } from "../errors.ts";
import { type Action, type Decision, decide, type Observed } from "./decide.ts";
import { type Problem, podStatus } from "./status.ts";

/** What a pass over one Pod needs of the world. */
export interface Ports {
  observe(uid: string): Promise<Observed>;
  perform(action: Action, seen: Observed): Promise<void>;
  /** Writes the status if it differs from what the API has. */
  report(pod: Pod, status: PodStatus): Promise<void>;
  /** Tells people why a Pod cannot run. */
  warn(pod: Pod, problem: Problem): void;
  now(): number;
}

/** A Pod comes to rest in a few rounds for each container; more would be a decision that undoes itself. */
const mostRounds = 300;
const lookAgainMs = 1000;

/**
 * Look, decide, act, until there is nothing to do; then report, once. Returns when to look again, in wall-clock
 * milliseconds. A container that cannot be started is written down and tried again later, while the others go on; a
 * failure of anything else is reported and thrown for the queue to try again.
 */
export async function reconcile(uid: string, ports: Ports): Promise<number | undefined> {
  let before = "";
  for (let round = 0; round < mostRounds; round++) {
    const seen = await ports.observe(uid);
    const decision = decide(seen, ports.now());
    const wanted = JSON.stringify(decision.actions);
    // The same again: it was done, and its effect (a process that ends) will be told by an event.
    if (decision.actions.length > 0 && wanted === before) return ports.now() + lookAgainMs;
    before = wanted;
    if (decision.actions.length === 0) return rest(seen, decision, ports);
    await performAll(decision.actions, seen, ports);
  }
  throw new NodeError(
    "SandboxError",
    `Cannot bring Pod "${uid}" to rest: still busy after ${mostRounds} rounds with ${before}`,
  );
}

async function rest(seen: Observed, decision: Decision, ports: Ports): Promise<number | undefined> {
  if (seen.pod !== undefined && decision.problem !== undefined) ports.warn(seen.pod, decision.problem);
  if (seen.pod !== undefined && decision.status !== undefined) await ports.report(seen.pod, decision.status);
  return decision.wakeAt;
}

/** Each action but the first sees what those before it have written. */
async function performAll(actions: readonly Action[], seen: Observed, ports: Ports): Promise<void> {
  let current = seen;
  for (const [index, action] of actions.entries()) {
    if (index > 0) current = await ports.observe(current.pod?.metadata?.uid ?? current.record?.uid ?? "");
    try {
      await ports.perform(action, current);
    } catch (error) {
      await meetFailure(action, current, error, ports);
    }
  }
}

async function meetFailure(action: Action, seen: Observed, error: unknown, ports: Ports): Promise<void> {
  const { pod } = seen;
  if (pod === undefined) throw error;
  const reason = error instanceof NodeError ? error.reason : "CreateContainerError";
  const problem = { reason, message: messageOf(error) };
  const now = await ports.observe(pod.metadata?.uid ?? "");
  if (action.do === "start-container" && now.record !== undefined) {
    return ports.perform({ do: "record-failure", container: action.container, problem }, now);
  }
  const isStart = action.do === "set-up" || action.do === "start-holder" || action.do === "sync-volumes";
  if (isStart) {
    ports.warn(pod, problem);
    // What is missing around the containers leaves them where they are, with a word on why.
    const waiting = { reason: "ContainerCreating", message: problem.message };
    await ports.report(pod, podStatus({ ...now, pod, problem: waiting }, ports.now()));
  }
  throw error;
}
