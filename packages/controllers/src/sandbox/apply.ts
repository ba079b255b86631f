import { mergePatch, type Sandbox, type SandboxStatus, sandboxes, semanticEqual } from "@agent-sandbox/api";
import { isReason, KubeError, type Logger, type Note, objectKey, type Result } from "@agent-sandbox/kube";
import { guardOf, ignoreNotFound, placeOf } from "../guard.ts";
import type { PassTrace } from "../pass-trace.ts";
import { type Action, type Step, stepOf } from "./action.ts";
import { type Decision, decide } from "./decide.ts";
import type { Failure, Observed } from "./observed.ts";
import { perform, type Writer } from "./perform.ts";
import { clockErrorMs } from "./server-clock.ts";
import type { Settings } from "./settings.ts";
import { tracePod, traceStep } from "./trace-pass.ts";

export interface Ports extends Writer {
  readonly settings: Settings;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Logger;
  readonly tell: (sandbox: Sandbox, note: Note) => void;
  readonly trace: PassTrace | undefined;
  /** Told what is known after the pass's own writes. */
  readonly onWritten: (after: Observed) => void;
}

/** A Pod that failed is replaced and noted; one that was in the way is adopted and noted. Nothing takes more. */
const mostRounds = 4;

/**
 * Acts until there is nothing left to do, deciding anew on what the answers showed; then reports. A status about the state
 * before the actions would be out of date when it is written, and cost one more write to correct.
 */
export async function reconcileSandbox(given: Ports, seen: Observed): Promise<Result> {
  const errorMs = await clockErrorMs(given, seen.sandbox);
  const ports = { ...given, now: () => given.now() - errorMs };
  const { after, errors } = await act(ports, seen);
  tracePod(ports.trace, seen, after);
  if (after !== seen) ports.onWritten(after);
  // The object is not what was decided on: nothing can be said of it before it is looked at again.
  const conflict = errors.find((error) => isReason(error, "Conflict"));
  if (conflict !== undefined) throw conflict;
  const decision = decide(after, ports.now(), ports.settings);
  await writeStatus(ports, after.sandbox, decision.status);
  if (decision.note) ports.tell(after.sandbox, decision.note);
  const worthRetrying = errors.find((error) => !isUsersError(error));
  if (worthRetrying !== undefined) throw worthRetrying;
  if (errors.length === 0 && decision.actions.length > 0) throw unsettled(after.sandbox, decision.actions);
  return { requeueAfterMs: decision.wakeAfterMs };
}

interface Acted {
  readonly after: Observed;
  readonly errors: readonly KubeError[];
}

async function act(ports: Ports, seen: Observed): Promise<Acted> {
  let after = seen;
  const errors: KubeError[] = [];
  for (let round = 0; round < mostRounds && errors.length === 0; round++) {
    const { actions }: Decision = decide(after, ports.now(), ports.settings);
    if (actions.length === 0) break;
    const failed = new Set<Step>();
    for (const action of actions) {
      const step = stepOf(action);
      if (failed.has(step)) continue;
      traceStep(ports.trace, step);
      try {
        after = await perform(ports, after, action);
        ports.log.info({ sandbox: objectKey(after.sandbox), ...summary(action) }, "sandbox changed");
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        failed.add(step);
        errors.push(error);
        after = { ...after, failures: [...after.failures, failureOf(step, error)] };
      }
    }
  }
  return { after, errors };
}

/** Rather retried ever less often than without end: something undoes what is done, or time has moved on. */
function unsettled(sandbox: Sandbox, actions: readonly Action[]): Error {
  const wish = JSON.stringify(actions.map(summary));
  return new Error(
    `Cannot settle Sandbox "${objectKey(sandbox)}": it still asks for ${wish} after ${mostRounds} rounds`,
  );
}

function summary(action: Action): object {
  switch (action.do) {
    case "create":
      return { did: `create ${action.child}`, name: action.object.metadata?.name };
    case "patch":
    case "delete":
      return { did: `${action.do} ${action.child}`, name: action.target.name };
    default:
      return { did: action.do };
  }
}

function failureOf(step: Step, error: KubeError): Failure {
  return {
    step,
    message: error.message,
    isPassing: !isUsersError(error) && !isReason(error, "Forbidden", "NotFound", "AlreadyExists"),
  };
}

/** Sending the same again gives the same answer: only a change of the Sandbox helps, and that wakes it. */
function isUsersError(error: unknown): boolean {
  return isReason(error, "Invalid", "BadRequest", "RequestEntityTooLarge");
}

/** Guarded by the version that was decided on: a newer object deserves a newer decision. */
async function writeStatus(
  { client, remember }: Writer,
  sandbox: Sandbox,
  status: SandboxStatus | undefined,
): Promise<void> {
  if (status === undefined || semanticEqual(sandbox.status, status, ["status"])) return;
  const change = mergePatch(sandbox.status ?? {}, status);
  if (change === undefined) return;
  const patch = { type: "merge", body: { status: change }, preconditions: guardOf(sandbox) } as const;
  await client.patch(sandboxes, placeOf(sandbox), patch, { subresource: "status" }).then(remember, ignoreNotFound);
}
