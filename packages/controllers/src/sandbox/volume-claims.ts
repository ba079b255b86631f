import {
  blueprintChoices,
  controllerReference,
  nameHash,
  type PersistentVolumeClaim,
  type Sandbox,
  sandboxes,
  sandboxNameHashLabel,
} from "@agent-sandbox/api";
import { type Action, targetOf } from "./action.ts";
import { adoptedReferences, isUsable, standingOf, strangerProblem } from "./adoption.ts";
import type { Observed } from "./observed.ts";

type Template = NonNullable<Sandbox["spec"]["volumeClaimTemplates"]>[number];

export interface ClaimTemplate {
  /** Also the name of the volume in the Pod. */
  readonly entry: string;
  readonly claimName: string;
  readonly template: Template;
}

export function claimTemplates({ metadata, spec }: Sandbox): ClaimTemplate[] {
  return (spec.volumeClaimTemplates ?? []).map((template) => {
    const entry = template.metadata?.name ?? "";
    return { entry, claimName: `${entry}-${metadata.name}`, template };
  });
}

/** Creates or adopts the volume claims in order, up to the first problem. Claims are never deleted, and their spec is never changed. */
export function volumeClaimStep({ sandbox, volumeClaims }: Observed): { actions: Action[]; problem?: string } {
  const actions: Action[] = [];
  for (const wanted of claimTemplates(sandbox)) {
    const found = volumeClaims.get(wanted.claimName);
    if (found === undefined) {
      actions.push({ do: "create", child: "volumeClaim", object: desiredClaim(sandbox, wanted) });
      continue;
    }
    const standing = standingOf(sandbox, found);
    if (!isUsable(standing)) return { actions, problem: strangerProblem("PersistentVolumeClaim", found) };
    const metadata = ownership(sandbox, found, standing);
    const target = targetOf(found, { locked: true });
    if (metadata !== undefined) actions.push({ do: "patch", child: "volumeClaim", target, body: { metadata } });
  }
  return { actions };
}

/**
 * A Pod cannot use a claim that is being deleted, and the claim stays as long as there is a Pod that would use it. So no Pod is created until
 * the claim is gone: then both are created.
 */
export function leavingClaimProblem({ sandbox, volumeClaims }: Observed): string | undefined {
  const names = claimTemplates(sandbox).map(({ claimName }) => claimName);
  const leaving = names.find((name) => volumeClaims.get(name)?.metadata?.deletionTimestamp !== undefined);
  return leaving && `PersistentVolumeClaim "${leaving}" is being deleted: the Pod is created when it is gone`;
}

/** A claim that must outlive its Sandbox has no owner reference to it: garbage collection would delete it. */
function ownership(
  sandbox: Sandbox,
  claim: PersistentVolumeClaim,
  standing: "owned" | "adoptable",
): object | undefined {
  if (!isRetained(sandbox)) return standing === "owned" ? undefined : adoptedReferences(sandbox, claim);
  if (standing === "adoptable") return undefined;
  const others = (claim.metadata?.ownerReferences ?? []).filter(({ uid }) => uid !== sandbox.metadata.uid);
  // With this label the Sandbox may use the claim without controlling it.
  const labels = { [sandboxNameHashLabel]: nameHash(sandbox.metadata.name ?? "") };
  return { labels, ownerReferences: others.length > 0 ? others : null };
}

function desiredClaim(sandbox: Sandbox, { claimName, template }: ClaimTemplate): PersistentVolumeClaim {
  const { name = "", namespace = "" } = sandbox.metadata;
  const { labels, annotations } = template.metadata ?? {};
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: claimName,
      namespace,
      labels: { ...labels, [sandboxNameHashLabel]: nameHash(name) },
      ...(annotations && { annotations }),
      ...(!isRetained(sandbox) && { ownerReferences: [controllerReference(sandboxes, sandbox)] }),
    },
    spec: template.spec,
  };
}

function isRetained({ spec }: Sandbox): boolean {
  return blueprintChoices(spec).volumeClaimsWhenDeleted === "Retain";
}
