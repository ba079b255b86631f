import type { Pod, PodStatus } from "@agent-sandbox/api";
import { messageOf, NodeError } from "../errors.ts";
import { type Action, type Decision, decide, type Observed } from "./decide.ts";
import { type Problem, podStatus } from "./status.ts";

/** The side effects of a pass over one Pod. */
export interface Ports {
  observe(uid: string): Promise<Observed>;
  perform(action: Action, observed: Observed): Promise<void>;
  /** Writes the status if it differs from the Pod's. */
  report(pod: Pod, status: PodStatus): Promise<void>;
  /** Records an event that says why the Pod cannot run. */
  warn(pod: Pod, problem: Problem): void;
  now(): number;
}

/** A Pod needs a few rounds per container. More rounds mean that decisions undo each other. */
const mostRounds = 300;
const repeatAfterMs = 1000;

/**
 * Observes, decides and acts until no actions are left, then writes the status once. Returns when to reconcile again, in
 * wall-clock milliseconds. A container that cannot start is recorded and retried later without holding up the others. Any
 * other failure is reported in the status and thrown, so that the queue retries the Pod.
 */
export async function reconcile(uid: string, ports: Ports): Promise<number | undefined> {
  let before = "";
  for (let round = 0; round < mostRounds; round++) {
    const observed = await ports.observe(uid);
    const decision = decide(observed, ports.now());
    const wanted = JSON.stringify(decision.actions);
    // The action was performed and its effect, such as the exit of a process, is still to come: wait for its event.
    if (decision.actions.length > 0 && wanted === before) return ports.now() + repeatAfterMs;
    before = wanted;
    if (decision.actions.length === 0) return finish(observed, decision, ports);
    await performAll(decision.actions, observed, ports);
  }
  throw new NodeError(
    "SandboxError",
    `Cannot finish the pass over Pod "${uid}": actions are left after ${mostRounds} rounds: ${before}`,
  );
}

async function finish(observed: Observed, decision: Decision, ports: Ports): Promise<number | undefined> {
  if (observed.pod !== undefined && decision.problem !== undefined) ports.warn(observed.pod, decision.problem);
  if (observed.pod !== undefined && decision.status !== undefined) await ports.report(observed.pod, decision.status);
  return decision.requeueAt;
}

/** Observes again before each action, because the earlier ones have changed the record. */
async function performAll(actions: readonly Action[], observed: Observed, ports: Ports): Promise<void> {
  let current = observed;
  for (const [index, action] of actions.entries()) {
    if (index > 0) current = await ports.observe(current.pod?.metadata?.uid ?? current.record?.uid ?? "");
    try {
      await ports.perform(action, current);
    } catch (error) {
      await handleFailure(action, current, error, ports);
    }
  }
}

async function handleFailure(action: Action, observed: Observed, error: unknown, ports: Ports): Promise<void> {
  const { pod } = observed;
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
    // All containers wait. The message says for what.
    const waiting = { reason: "ContainerCreating", message: problem.message };
    await ports.report(pod, podStatus({ ...now, pod, problem: waiting }, ports.now()));
  }
  throw error;
}
