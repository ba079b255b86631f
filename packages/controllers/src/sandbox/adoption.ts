import {
  adoptableLabel,
  controllerOf,
  controllerReference,
  nameHash,
  type PersistentVolumeClaim,
  type Pod,
  type Sandbox,
  type Service,
  sandboxes,
  sandboxNameHashLabel,
  withController,
} from "@agent-sandbox/api";
import { owns } from "./observed.ts";

type Candidate = Pick<Pod | Service | PersistentVolumeClaim, "metadata">;

/** How an object with the name of one of the Sandbox's children relates to the Sandbox. */
export type Standing = "owned" | "foreign" | "adoptable" | "unauthorised";

/** An object without controller may be adopted if it has the adoptable label or this Sandbox's hash label. */
export function standingOf(sandbox: Sandbox, candidate: Candidate): Standing {
  if (owns(sandbox, candidate)) return "owned";
  if (controllerOf(candidate) !== undefined) return "foreign";
  const { labels = {} } = candidate.metadata ?? {};
  const isOurs = labels[sandboxNameHashLabel] === nameHash(sandbox.metadata.name ?? "");
  return isOurs || labels[adoptableLabel] === "true" ? "adoptable" : "unauthorised";
}

export function isUsable(standing: Standing): standing is "owned" | "adoptable" {
  return standing === "owned" || standing === "adoptable";
}

/** The owner references of an adopted object. A merge patch replaces the whole list, so it needs a resourceVersion. */
export function adoptedReferences(sandbox: Sandbox, candidate: Candidate): { ownerReferences: object[] } {
  const references = withController(candidate.metadata?.ownerReferences, controllerReference(sandboxes, sandbox));
  if ("error" in references) throw new Error(references.error);
  return references;
}

/** Why an object of another owner cannot be used. */
export function strangerProblem(kind: string, candidate: Candidate): string {
  const name = candidate.metadata?.name ?? "";
  const controller = controllerOf(candidate);
  if (controller !== undefined) {
    return `Cannot use ${kind} "${name}": it is controlled by ${controller.kind} "${controller.name}". Delete or rename one of the two`;
  }
  return `Cannot use ${kind} "${name}": it is not controlled by this Sandbox. Label it ${adoptableLabel}=true to have it adopted, or delete it`;
}
