import {
  createdByLabel,
  normaliseCreatedBy,
  type Sandbox,
  sandboxes,
  traceContextAnnotation,
} from "@agent-sandbox/api";
import { type Client, type Logger, objectKey } from "@agent-sandbox/kube";
import { guardOf, placeOf } from "../guard.ts";
import { PassTrace, type Tracing } from "../pass-trace.ts";
import type { Step } from "./action.ts";
import { findPod, type Observed } from "./observed.ts";

export interface TraceOptions {
  readonly tracing: Tracing | undefined;
  readonly client: Client;
  readonly log: Logger;
}

/** Runs a pass within the Sandbox's trace. A Sandbox that belongs to none is first made to belong to this one. */
export async function tracePass<T>(
  { tracing, client, log }: TraceOptions,
  seen: Observed,
  pass: (seen: Observed, trace: PassTrace | undefined) => Promise<T>,
): Promise<T> {
  const { sandbox } = seen;
  const subject = { object: sandbox, name: "ReconcileSandbox", attributes: attributesOf(sandbox) };
  const trace = PassTrace.begin(tracing, subject, (error) =>
    log.warn({ sandbox: objectKey(sandbox), err: error }, "trace context not understood"),
  );
  try {
    const joined = { ...seen, sandbox: await join(client, sandbox, trace) };
    const result = await pass(joined, trace);
    trace?.end();
    return result;
  } catch (error) {
    trace?.end(error);
    throw error;
  }
}

const partOf: Readonly<Partial<Record<Step, string>>> = { volumeClaim: "reconcilePVCs", pod: "reconcilePod" };

/** Has the span of that step, where it has one of its own. */
export function traceStep(trace: PassTrace | undefined, step: Step): void {
  const name = partOf[step];
  if (name !== undefined) trace?.part(name);
}

/** Notes which Pod the pass ended with. */
export function tracePod(trace: PassTrace | undefined, before: Observed, after: Observed): void {
  const found = findPod(after);
  if (trace === undefined || found.type !== "owned") return;
  const { metadata, status } = found.pod;
  const isNew = !before.pods.some((pod) => pod.metadata?.uid === metadata?.uid);
  const attributes = { "pod.Name": metadata?.name ?? "", "pod.Phase": status?.phase ?? "" };
  trace.part("reconcilePod").addEvent(isNew ? "NewPodStatusObserved" : "ExistingPodStatusObserved", attributes);
}

async function join(client: Client, sandbox: Sandbox, trace: PassTrace | undefined): Promise<Sandbox> {
  const { annotations = {}, deletionTimestamp } = sandbox.metadata;
  if (deletionTimestamp !== undefined || annotations[traceContextAnnotation] !== undefined) return sandbox;
  const annotation = trace?.annotation;
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
