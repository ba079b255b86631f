import { blueprintChoices, type Sandbox } from "@agent-sandbox/api";

/** The first field this controller cannot honour, or undefined. Half a Sandbox would be worse than none. */
export function unsupportedField({ spec }: Sandbox): string | undefined {
  if (spec.volumeClaimTemplates?.length) return "spec.volumeClaimTemplates";
  if (spec.service === true) return "spec.service";
  if (spec.shutdownTime !== undefined) return "spec.shutdownTime";
  if (spec.idlePolicy !== undefined) return "spec.idlePolicy";
  if (blueprintChoices(spec).runtime === "Injected") return "spec.runtime";
  return undefined;
}
