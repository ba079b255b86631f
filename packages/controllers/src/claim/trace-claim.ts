import { createdByLabel, normaliseCreatedBy, type SandboxClaim, traceContextAnnotation } from "@agent-sandbox/api";
import { type Logger, objectKey } from "@agent-sandbox/kube";
import { PassTrace, type Tracing } from "../pass-trace.ts";
import type { Observed } from "./observed.ts";

/**
 * Runs a pass within the claim's trace. A claim that belongs to none gets one for its Sandbox to carry, and is found in it
 * again through that: nothing is written on the claim.
 */
export async function traceClaim<T>(
  { tracing, log }: { readonly tracing: Tracing | undefined; readonly log: Logger },
  seen: Observed,
  pass: (seen: Observed) => Promise<T>,
): Promise<T> {
  const { claim, owned } = seen;
  const isTraced = claim.metadata.annotations?.[traceContextAnnotation] !== undefined;
  const object = isTraced ? claim : (owned[0]?.sandbox ?? claim);
  const subject = { object, name: "ReconcileSandboxClaim", attributes: attributesOf(claim) };
  const trace = PassTrace.begin(tracing, subject, (error) =>
    log.warn({ claim: objectKey(claim), err: error }, "trace context not understood"),
  );
  try {
    const context = isTraced ? undefined : trace?.annotation;
    const result = await pass(context === undefined ? seen : { ...seen, claim: joined(claim, context) });
    trace?.end();
    return result;
  } catch (error) {
    trace?.end(error);
    throw error;
  }
}

function joined(claim: SandboxClaim, context: string): SandboxClaim {
  const annotations = { ...claim.metadata.annotations, [traceContextAnnotation]: context };
  return { ...claim, metadata: { ...claim.metadata, annotations } };
}

function attributesOf({ metadata }: SandboxClaim): Record<string, string> {
  const createdBy = normaliseCreatedBy(metadata.labels?.[createdByLabel]);
  return createdBy === undefined ? {} : { [createdByLabel]: createdBy };
}
