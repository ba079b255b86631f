import type { PersistentVolumeClaimTemplate, SandboxTemplateSpec } from "@agent-sandbox/api";
import { errorSeen, type Outcome, type Problem } from "./problem.ts";

type Templates = PersistentVolumeClaimTemplate[];

/** The volume claim templates of a Sandbox created for a claim: the template's, and the claim's if the policy allows them. */
export function mergeVolumeClaims(
  given: Templates | undefined,
  added: readonly PersistentVolumeClaimTemplate[],
  policy: SandboxTemplateSpec["volumeClaimTemplatesPolicy"],
): Outcome<Templates | undefined> {
  const refusal = refuseNames(given ?? [], "template") ?? refuseNames(added, "claim");
  if (refusal !== undefined) return { problem: refusal };
  if (added.length === 0) return { value: given };
  switch (policy) {
    case undefined:
    case "Disallowed":
      return { problem: problem("the template does not allow claims to bring volumeClaimTemplates") };
    case "Allowed":
    case "Overrides":
      return merge(given ?? [], added, policy);
    default:
      return { problem: errorSeen(`volumeClaimTemplatesPolicy "${String(policy)}" is unknown`) };
  }
}

function merge(
  given: Templates,
  added: readonly PersistentVolumeClaimTemplate[],
  policy: "Allowed" | "Overrides",
): Outcome<Templates> {
  const result = [...given];
  for (const template of added) {
    const at = result.findIndex((existing) => nameOf(existing) === nameOf(template));
    if (at >= 0 && policy === "Allowed") {
      return { problem: problem(`the template has "${nameOf(template)}" already and does not say Overrides`) };
    }
    if (at >= 0) result[at] = template;
    else result.push(template);
  }
  return { value: result };
}

function refuseNames(templates: readonly PersistentVolumeClaimTemplate[], whose: string): Problem | undefined {
  const names = new Set<string>();
  for (const template of templates) {
    const name = nameOf(template);
    if (name === "") return problem(`a volumeClaimTemplate of the ${whose} has no name`);
    if (names.has(name)) return problem(`the ${whose} has two volumeClaimTemplates named "${name}"`);
    names.add(name);
  }
  return undefined;
}

function problem(message: string): Problem {
  return { reason: "VolumeClaimTemplatesError", message };
}

function nameOf({ metadata }: PersistentVolumeClaimTemplate): string {
  return metadata?.name ?? "";
}
