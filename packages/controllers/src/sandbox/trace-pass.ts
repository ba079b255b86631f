import {
  createdByLabel,
  normaliseCreatedBy,
  type Sandbox,
  sandboxes,
  traceContextAnnotation,
} from "@agent-sandbox/api";
import type { Client, Pass, Traced } from "@agent-sandbox/kube";
import { guardOf, placeOf } from "../guard.ts";
import { PassTrace, type Tracing } from "../pass-trace.ts";
import { type Action, type Step, stepOf } from "./action.ts";
import { findPod, type Snapshot } from "./observed.ts";

/** Begins the span of a pass in the Sandbox's trace. A Sandbox without a trace is annotated with this one first. */
export async function tracePass(
  observed: Snapshot,
  { client, log }: Pick<Pass, "client" | "log">,
  tracing: Tracing | undefined,
): Promise<Traced<Snapshot, Action>> {
  const { sandbox } = observed;
  const subject = { object: sandbox, name: "ReconcileSandbox", attributes: attributesOf(sandbox) };
  const trace = PassTrace.begin(tracing, subject, (error) => log.warn({ err: error }, "trace context not understood"));
  if (trace === undefined) return { observed, span: undefined };
  try {
    const span = {
      performing: (action: Action): void => traceStep(trace, stepOf(action)),
      performed: (before: Snapshot, after: Snapshot): void => tracePod(trace, before, after),
      end: (error?: unknown): void => trace.end(error),
    };
    return { observed: { ...observed, sandbox: await join(client, sandbox, trace) }, span };
  } catch (error) {
    trace.end(error);
    throw error;
  }
}

const partOf: Readonly<Partial<Record<Step, string>>> = { volumeClaim: "reconcilePVCs", pod: "reconcilePod" };

function traceStep(trace: PassTrace, step: Step): void {
  const name = partOf[step];
  if (name !== undefined) trace.part(name);
}

/** Adds an event with the Pod that the pass ended with. */
function tracePod(trace: PassTrace, before: Snapshot, after: Snapshot): void {
  const found = findPod(after);
  if (found.type !== "owned") return;
  const { metadata, status } = found.pod;
  const isNew = !before.pods.some((pod) => pod.metadata?.uid === metadata?.uid);
  const attributes = { "pod.Name": metadata?.name ?? "", "pod.Phase": status?.phase ?? "" };
  trace.part("reconcilePod").addEvent(isNew ? "NewPodStatusObserved" : "ExistingPodStatusObserved", attributes);
}

async function join(client: Client, sandbox: Sandbox, trace: PassTrace): Promise<Sandbox> {
  const { annotations = {}, deletionTimestamp } = sandbox.metadata;
  if (deletionTimestamp !== undefined || annotations[traceContextAnnotation] !== undefined) return sandbox;
  const annotation = trace.annotation;
  if (annotation === undefined) return sandbox;
  const body = { metadata: { annotations: { [traceContextAnnotation]: annotation } } };
  return client.patch(sandboxes, placeOf(sandbox), { type: "merge", body, preconditions: guardOf(sandbox) });
}

function attributesOf({ metadata }: Sandbox): Record<string, string> {
  const createdBy = normaliseCreatedBy(metadata.labels?.[createdByLabel]);
  return {
    "sandbox.name": metadata.name ?? "",
    "sandbox.namespace": metadata.namespace ?? "",
    ...(createdBy && { [createdByLabel]: createdBy }),
  };
}
