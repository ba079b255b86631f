import type { Pod, PodStatus } from "@agent-sandbox/api";
import {
  type Decision as EngineDecision,
  type EventRecord,
  type Pass,
  parseKey,
  type Reconcile,
  reconciler,
  type Scheduler,
  systemScheduler,
} from "@agent-sandbox/kube";
import { messageOf, NodeError } from "../errors.ts";
import { type Action, decide, type Observed } from "./decide.ts";
import { type Problem, podStatus } from "./status.ts";

/** The side effects of a pass over one Pod. */
export interface Ports {
  observe(uid: string): Promise<Observed>;
  perform(action: Action, observed: Observed, pass: Pass): Promise<void>;
  /** Writes the status if it differs from the Pod's. */
  report(pod: Pod, status: PodStatus, pass: Pass): Promise<void>;
  recordEvent(pod: Pod, event: EventRecord): void;
  now(): number;
}

/** The observed state of a Pod, with the failure of an action that all its containers wait for. */
interface State extends Observed {
  readonly failure?: { readonly problem: Problem; readonly error: unknown };
}

type Decision = EngineDecision<Action, PodStatus, undefined>;

/** A Pod needs a few rounds per container. More rounds mean that decisions undo each other. */
const maxRounds = 300;
const repeatAfterMs = 1000;

/**
 * Reconciles Pods. Keys end with the UID of the Pod. A container that cannot start is recorded and retried later without holding up
 * the others. Any other failure is reported in the status and fails the pass, so that the queue retries the Pod.
 */
export function podReconciler(ports: Ports, scheduler: Scheduler = systemScheduler): Reconcile {
  const { reconcile } = reconciler<Pod, State, Action, PodStatus, undefined>({
    // Nothing is remembered between passes: the records on disk are the memory.
    primary: { get: () => undefined },
    initialMemory: () => undefined,
    observe: (key) => ports.observe(parseKey(key).name),
    decide: (state, _memory, now) => decideState(state, now),
    perform: (action, state, pass) => performAndObserve(action, state, { ports, pass }),
    writeStatus: async (status, { pod }, pass) => {
      if (pod !== undefined) await ports.report(pod, status, pass);
      return undefined;
    },
    recordEvent: ({ pod }, event) => {
      if (pod !== undefined) ports.recordEvent(pod, event);
    },
    maxRounds,
    repeatAfterMs,
    scheduler,
    now: () => ports.now(),
  });
  return reconcile;
}

function decideState(state: State, now: number): Decision {
  const { pod, failure } = state;
  if (pod === undefined || failure === undefined) {
    const { problem, ...decision } = decide(state, now);
    return { ...decision, memory: undefined, events: problem === undefined ? [] : [warningOf(problem)] };
  }
  // All containers wait. The message says for what.
  const waiting = { reason: "ContainerCreating", message: failure.problem.message };
  return {
    actions: [],
    memory: undefined,
    status: podStatus({ ...state, pod, problem: waiting }, now),
    events: [warningOf(failure.problem)],
    error: failure.error,
  };
}

interface Context {
  readonly ports: Ports;
  readonly pass: Pass;
}

/** Observes after each action, because it has changed the record. */
async function performAndObserve(action: Action, state: State, { ports, pass }: Context): Promise<State> {
  try {
    await ports.perform(action, state, pass);
  } catch (error) {
    return observeFailure(error, action, state, { ports, pass });
  }
  return ports.observe(uidOf(state));
}

/** The actions that all containers of a Pod wait for. */
const concernAll: readonly Action["do"][] = ["set-up", "start-holder", "sync-volumes", "restore"];

async function observeFailure(error: unknown, action: Action, state: State, context: Context): Promise<State> {
  const { ports, pass } = context;
  if (state.pod === undefined) throw error;
  const reason = error instanceof NodeError ? error.reason : "CreateContainerError";
  const problem = { reason, message: messageOf(error) };
  const observed = await ports.observe(uidOf(state));
  if (action.do === "start-container" && observed.record !== undefined) {
    await ports.perform({ do: "record-failure", container: action.container, problem }, observed, pass);
    return ports.observe(uidOf(state));
  }
  if (!concernAll.includes(action.do)) throw error;
  return { ...observed, failure: { problem, error } };
}

function uidOf({ pod, record }: Observed): string {
  return pod?.metadata?.uid ?? record?.uid ?? "";
}

/** The event reasons for errors that are not a waiting reason of the kubelet. */
const eventReasons: Readonly<Record<string, string>> = {
  FailedMount: "FailedMount",
  SandboxError: "FailedCreatePodSandBox",
  NodeSetup: "FailedCreatePodSandBox",
};

function warningOf({ reason: error, message: text }: Problem): EventRecord {
  const reason = eventReasons[error] ?? "Failed";
  return { type: "Warning", reason, action: reason, text };
}
