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

/** What a Sandbox may do with an object that has the name of one of its children. */
export type Standing = "owned" | "foreign" | "adoptable" | "unauthorised";

/** An object that nobody controls may be adopted when it says so itself, or carries this Sandbox's hash. */
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

/** The owner references of an adopted object: a list is replaced whole, so the patch must be locked. */
export function adoptedReferences(sandbox: Sandbox, candidate: Candidate): { ownerReferences: object[] } {
  const references = withController(candidate.metadata?.ownerReferences, controllerReference(sandboxes, sandbox));
  if ("error" in references) throw new Error(references.error);
  return references;
}

/** Why an object cannot be used, for people. */
export function strangerProblem(kind: string, candidate: Candidate): string {
  const name = candidate.metadata?.name ?? "";
  const controller = controllerOf(candidate);
  if (controller !== undefined) {
    return `Cannot use ${kind} "${name}": it is controlled by ${controller.kind} "${controller.name}". Delete or rename one of the two`;
  }
  return `Cannot use ${kind} "${name}": it is not controlled by this Sandbox. Label it ${adoptableLabel}=true to have it adopted, or delete it`;
}
