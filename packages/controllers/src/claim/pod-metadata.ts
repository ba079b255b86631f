import {
  claimUidLabel,
  createdByLabel,
  deepEqual,
  type PodMetadata,
  type Sandbox,
  type SandboxClaim,
  sandboxTemplateRefHashLabel,
} from "@agent-sandbox/api";
import { errorSeen, type Outcome } from "./problem.ts";

/**
 * The pod template's metadata of a claimed Sandbox: the template's, the claim's identity, and what the claim adds. A claim may repeat
 * the template's values but not change them.
 */
export function claimedPodMetadata(
  claim: SandboxClaim,
  given: PodMetadata | undefined,
  templateRefHash: string,
): Outcome<PodMetadata> {
  const { labels: more, annotations: moreAnnotations } = claim.spec.additionalPodMetadata ?? {};
  const { [createdByLabel]: _, ...inherited } = given?.labels ?? {};
  const base = { ...inherited, ...identityOf(claim, templateRefHash) };
  const labels = add(base, more, "label");
  const annotations = add(given?.annotations ?? {}, moreAnnotations, "annotation");
  if ("problem" in labels) return labels;
  if ("problem" in annotations) return annotations;
  return {
    value: {
      labels: labels.value,
      ...(Object.keys(annotations.value).length > 0 && { annotations: annotations.value }),
    },
  };
}

/** The labels that identify the claim and the template of a Sandbox. */
export function identityOf(claim: SandboxClaim, templateRefHash: string): Record<string, string> {
  const createdBy = claim.metadata.labels?.[createdByLabel];
  return {
    [claimUidLabel]: claim.metadata.uid ?? "",
    [sandboxTemplateRefHashLabel]: templateRefHash,
    ...(createdBy && { [createdByLabel]: createdBy }),
  };
}

const identityKeys = new Set<string>([claimUidLabel, sandboxTemplateRefHashLabel, createdByLabel]);

/**
 * The spec with this metadata in its pod template, or the unchanged spec when only identity labels are missing. Those are not copied
 * to Pods and are also on the Sandbox itself: writing them into the spec would create a new generation, and cost another
 * write for observedGeneration.
 */
export function withPodMetadata(spec: Sandbox["spec"], wanted: PodMetadata): Sandbox["spec"] {
  const { labels: found = {}, annotations = {} } = spec.podTemplate.metadata ?? {};
  const { labels = {} } = wanted;
  const isSame =
    Object.entries(found).every(([key, value]) => labels[key] === value) &&
    Object.keys(labels).every((key) => Object.hasOwn(found, key) || identityKeys.has(key)) &&
    deepEqual(annotations, wanted.annotations ?? {});
  return isSame ? spec : { ...spec, podTemplate: { ...spec.podTemplate, metadata: wanted } };
}

function add(
  base: Readonly<Record<string, string>>,
  more: Readonly<Record<string, string>> | undefined,
  what: string,
): Outcome<Record<string, string>> {
  for (const [key, value] of Object.entries(more ?? {})) {
    if (Object.hasOwn(base, key) && base[key] !== value) {
      return { problem: errorSeen(`Cannot add ${what} "${key}": the template sets it to "${base[key]}"`) };
    }
  }
  return { value: { ...base, ...more } };
}
