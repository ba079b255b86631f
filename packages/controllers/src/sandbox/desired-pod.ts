import {
  controllerReference,
  createdByLabel,
  isReservedAnnotation,
  isReservedKey,
  nameHash,
  normaliseCreatedBy,
  type Pod,
  propagatedAnnotationsAnnotation,
  propagatedLabelsAnnotation,
  type Sandbox,
  sandboxes,
  sandboxNameHashLabel,
} from "@agent-sandbox/api";

/** The Pod of a Sandbox that has none: the template's spec as it is, its metadata without what is reserved for us. */
export function desiredPod(sandbox: Sandbox): Pod {
  const { name = "", namespace = "" } = sandbox.metadata;
  const template = sandbox.spec.podTemplate;
  const copiedLabels = without(isReservedKey, template.metadata?.labels);
  const copiedAnnotations = without(isReservedAnnotation, template.metadata?.annotations);
  const createdBy = normaliseCreatedBy(sandbox.metadata.labels?.[createdByLabel]);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      labels: {
        ...copiedLabels,
        [sandboxNameHashLabel]: nameHash(name),
        ...(createdBy && { [createdByLabel]: createdBy }),
      },
      annotations: {
        ...copiedAnnotations,
        ...listOfKeys(propagatedLabelsAnnotation, copiedLabels),
        ...listOfKeys(propagatedAnnotationsAnnotation, copiedAnnotations),
      },
      ownerReferences: [controllerReference(sandboxes, sandbox)],
    },
    spec: template.spec,
  };
}

function without(
  excluded: (key: string) => boolean,
  entries: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return Object.fromEntries(Object.entries(entries).filter(([key]) => !excluded(key)));
}

/** Remembers on the Pod which keys came from the template, so that a key dropped there can be dropped here. */
function listOfKeys(annotation: string, copied: Readonly<Record<string, string>>): Record<string, string> {
  const keys = Object.keys(copied).sort();
  return keys.length > 0 ? { [annotation]: keys.join(",") } : {};
}
