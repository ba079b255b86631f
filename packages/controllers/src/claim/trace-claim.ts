import { createdByLabel, normaliseCreatedBy, type SandboxClaim, traceContextAnnotation } from "@agent-sandbox/api";
import type { Logger, Traced } from "@agent-sandbox/kube";
import { PassTrace, type Tracing } from "../pass-trace.ts";
import type { Action } from "./decision.ts";
import type { Observed } from "./observe.ts";

/**
 * Begins the span of a pass in the claim's trace. A claim without a trace gets one that its Sandbox carries in an annotation, and
 * that is written to the claim with its record.
 */
export function traceClaim(
  observed: Observed,
  { tracing, log }: { readonly tracing: Tracing | undefined; readonly log: Logger },
): Traced<Observed, Action> {
  const { claim, owned } = observed;
  const isTraced = claim.metadata.annotations?.[traceContextAnnotation] !== undefined;
  const object = isTraced ? claim : (owned[0]?.sandbox ?? claim);
  const subject = { object, name: "ReconcileSandboxClaim", attributes: attributesOf(claim) };
  const span = PassTrace.begin(tracing, subject, (error) => log.warn({ err: error }, "trace context not understood"));
  const context = isTraced ? undefined : span?.annotation;
  if (context === undefined) return { observed, span };
  return { observed: { ...observed, claim: withContext(claim, context), unrecordedTrace: context }, span };
}

function withContext(claim: SandboxClaim, context: string): SandboxClaim {
  const annotations = { ...claim.metadata.annotations, [traceContextAnnotation]: context };
  return { ...claim, metadata: { ...claim.metadata, annotations } };
}

function attributesOf({ metadata }: SandboxClaim): Record<string, string> {
  const createdBy = normaliseCreatedBy(metadata.labels?.[createdByLabel]);
  return createdBy === undefined ? {} : { [createdByLabel]: createdBy };
}
