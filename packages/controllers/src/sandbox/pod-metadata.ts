import {
  controllerOf,
  createdByLabel,
  extensionsGroup,
  groupOf,
  isPoolMember,
  isReservedAnnotation,
  isReservedKey,
  mergePatch,
  nameHash,
  normaliseCreatedBy,
  type Pod,
  propagatedAnnotationsAnnotation,
  propagatedLabelsAnnotation,
  type Sandbox,
  safeToEvictAnnotation,
  sandboxNameHashLabel,
  sandboxTemplateRefHashLabel,
  warmPoolSandboxLabel,
} from "@agent-sandbox/api";
import type { Settings } from "./settings.ts";

/** Tells the node to keep the Pod's writable layer for the next Pod with the same value. */
export const keepRootfsAnnotation = "agents.x-k8s.io/keep-rootfs";

type Entries = Readonly<Record<string, string>>;

export interface PodMetadata {
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
}

/**
 * The desired labels and annotations of a Pod, given its present ones. Keys of the template are copied, except reserved ones; keys
 * that the template had before and has no more are removed; the controller's own keys take precedence. Other keys stay.
 */
export function podMetadata(sandbox: Sandbox, settings: Settings, present: Pod["metadata"] = {}): PodMetadata {
  const template = sandbox.spec.podTemplate.metadata ?? {};
  const trackedLabels = present.annotations?.[propagatedLabelsAnnotation];
  const trackedAnnotations = present.annotations?.[propagatedAnnotationsAnnotation];
  const labels = follow(present.labels, {
    template: template.labels,
    tracked: trackedLabels,
    isReserved: isReservedKey,
  });
  const annotations = follow(present.annotations, {
    template: { ...poolAnnotations(sandbox), ...template.annotations },
    tracked: trackedAnnotations,
    isReserved: isReservedAnnotation,
  });
  for (const [key, value] of systemLabels(sandbox)) setOrDelete(labels.entries, key, value);
  setOrDelete(annotations.entries, propagatedLabelsAnnotation, labels.tracked);
  setOrDelete(annotations.entries, propagatedAnnotationsAnnotation, annotations.tracked);
  if (settings.keepRootFilesystem) {
    const isKept = sandbox.spec.suspendPolicy?.depth !== "Volumes";
    setOrDelete(annotations.entries, keepRootfsAnnotation, isKept ? sandbox.metadata.uid : undefined);
  }
  return { labels: Object.fromEntries(labels.entries), annotations: Object.fromEntries(annotations.entries) };
}

/** The patch that updates the metadata of an existing Pod; undefined when nothing differs. */
export function podMetadataPatch(sandbox: Sandbox, settings: Settings, pod: Pod): object | undefined {
  const { labels = {}, annotations = {} } = pod.metadata ?? {};
  return mergePatch({ labels, annotations }, podMetadata(sandbox, settings, pod.metadata));
}

interface Source {
  readonly template: Entries | undefined;
  /** The keys copied from the template last time, joined by commas. */
  readonly tracked: string | undefined;
  readonly isReserved: (key: string) => boolean;
}

function follow(
  present: Entries | undefined,
  { template = {}, tracked, isReserved }: Source,
): { entries: Map<string, string>; tracked: string | undefined } {
  const entries = new Map(Object.entries(present ?? {}));
  const copied = new Map(Object.entries(template).filter(([key]) => !isReserved(key)));
  for (const key of tracked?.split(",") ?? []) if (!copied.has(key)) entries.delete(key);
  for (const [key, value] of copied) entries.set(key, value);
  const keys = [...copied.keys()].sort().join(",");
  // Once written, the list stays even when it is empty: it says that nothing was copied.
  return { entries, tracked: keys === "" && tracked === undefined ? undefined : keys };
}

/** The autoscaler annotation of an unclaimed pool member. An annotation in the template takes precedence. */
function poolAnnotations(sandbox: Sandbox): Entries {
  const isEvictable = sandbox.metadata.annotations?.[safeToEvictAnnotation];
  return isEvictable !== undefined && isPoolMember(sandbox) ? { [safeToEvictAnnotation]: isEvictable } : {};
}

/** The controller's own labels; undefined for labels that the Pod must not have. */
function systemLabels(sandbox: Sandbox): [key: string, value: string | undefined][] {
  const { name = "", labels = {} } = sandbox.metadata;
  const isExtension = groupOf(controllerOf(sandbox)?.apiVersion ?? "") === extensionsGroup;
  return [
    [sandboxNameHashLabel, nameHash(name)],
    [warmPoolSandboxLabel, isPoolMember(sandbox) ? labels[warmPoolSandboxLabel] : undefined],
    [sandboxTemplateRefHashLabel, isExtension ? labels[sandboxTemplateRefHashLabel] : undefined],
    [createdByLabel, normaliseCreatedBy(labels[createdByLabel])],
  ];
}

function setOrDelete(entries: Map<string, string>, key: string, value: string | undefined): void {
  // The tracking annotations may be empty; the controller's own labels never are.
  if (value === undefined || (value === "" && !isTracking(key))) entries.delete(key);
  else entries.set(key, value);
}

function isTracking(key: string): boolean {
  return key === propagatedLabelsAnnotation || key === propagatedAnnotationsAnnotation;
}
