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

/** A Pod comes to rest in a handful of rounds: set up, start, look; more would be a decision that undoes itself. */
const mostRounds = 10;
const lookAgainMs = 1000;

/**
 * Look, decide, act, until there is nothing to do; then report, once. Returns when to look again, in wall-clock
 * milliseconds. An effect that failed is reported too, and thrown for the queue to try again later.
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
    for (const action of decision.actions) await performOrReport(action, seen, ports);
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

async function performOrReport(action: Action, seen: Observed, ports: Ports): Promise<void> {
  try {
    await ports.perform(action, seen);
  } catch (error) {
    const isStart = action.do === "set-up" || action.do === "start-container";
    if (seen.pod !== undefined && isStart) {
      const reason = error instanceof NodeError ? error.reason : "CreateContainerError";
      const problem = { reason, message: messageOf(error) };
      ports.warn(seen.pod, problem);
      const { record } = await ports.observe(seen.pod.metadata?.uid ?? "");
      await ports.report(
        seen.pod,
        podStatus({ pod: seen.pod, record, hostAddress: seen.hostAddress, problem }, ports.now()),
      );
    }
    throw error;
  }
}
