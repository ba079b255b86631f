import { parseTime, type Sandbox } from "@agent-sandbox/api";
import { claimTemplates } from "./volume-claims.ts";

/**
 * Why the spec cannot be understood, or undefined. Schemas do not catch everything: formats of values that are not strings, or
 * names that are needed only when a Pod is created.
 */
export function specProblem({ metadata, spec }: Sandbox): string | undefined {
  if (!isObject(spec)) return "spec is missing";
  if (!isObject(spec.podTemplate) || !isObject(spec.podTemplate.spec)) return "spec.podTemplate.spec is missing";
  if (!Array.isArray(spec.podTemplate.spec.containers)) return "spec.podTemplate.spec.containers is missing";
  return timeProblem(spec.shutdownTime) ?? volumeProblem({ metadata, spec } as Sandbox);
}

function timeProblem(shutdownTime: unknown): string | undefined {
  if (shutdownTime === undefined || shutdownTime === null) return undefined;
  const time =
    typeof shutdownTime === "string"
      ? parseTime(shutdownTime)
      : { error: "want RFC 3339, such as 2026-01-31T15:04:05Z" };
  return "error" in time ? `Cannot read spec.shutdownTime: ${time.error}` : undefined;
}

function volumeProblem(sandbox: Sandbox): string | undefined {
  const templates: unknown = sandbox.spec.volumeClaimTemplates ?? [];
  if (!Array.isArray(templates) || !templates.every(isObject))
    return "spec.volumeClaimTemplates is not a list of templates";
  const names = claimTemplates(sandbox).map(({ entry }) => entry);
  const index = names.findIndex((name, at) => name === "" || names.indexOf(name) !== at);
  if (index < 0) return undefined;
  const found = names[index] === "" ? "is missing" : `"${names[index]}" is there twice`;
  return `spec.volumeClaimTemplates[${index}].metadata.name ${found}: give each volume a name of its own`;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
