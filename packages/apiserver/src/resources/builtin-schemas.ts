import { crds } from "@agent-sandbox/api/crds";
import type { Schema } from "./definition.ts";

/** Fields that are kept as they come, because nothing in the box reads them as anything but what their writer put there. */
const anything: Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const text: Schema = { type: "string" };
const flag: Schema = { type: "boolean" };
const int32: Schema = { type: "integer", format: "int32" };
const texts: Schema = { type: "array", items: text };
const textMap: Schema = { type: "object", additionalProperties: text };
const intOrString: Schema = { "x-kubernetes-int-or-string": true };

const object = (properties: Record<string, Schema>, required: readonly string[] = []): Schema => ({
  type: "object",
  properties,
  ...(required.length === 0 ? {} : { required }),
});
const listOf = (items: Schema): Schema => ({ type: "array", items });

const microTime: Schema = { ...text, nullable: true };
const reference = object({
  apiVersion: text,
  kind: text,
  namespace: text,
  name: text,
  uid: text,
  resourceVersion: text,
  fieldPath: text,
});
const eventSource = object({ component: text, host: text });
const eventSeries = object({ count: int32, lastObservedTime: microTime });
const eventCommon = {
  eventTime: microTime,
  series: eventSeries,
  action: text,
  reason: text,
  type: text,
  related: reference,
  reportingInstance: text,
};

const servicePort = object(
  { name: text, protocol: text, appProtocol: text, port: int32, targetPort: intOrString, nodePort: int32 },
  ["port"],
);

const schemas: Readonly<Record<string, Schema>> = {
  "v1/namespaces": object({ spec: object({ finalizers: texts }), status: anything }),
  "v1/nodes": object({ spec: anything, status: anything }),
  "v1/pods": object({ spec: bundled("Sandbox", "spec", "podTemplate", "spec"), status: anything }, ["spec"]),
  "v1/services": object(
    {
      spec: {
        ...object({
          type: text,
          clusterIP: text,
          clusterIPs: texts,
          selector: textMap,
          ports: listOf(servicePort),
          publishNotReadyAddresses: flag,
          sessionAffinity: text,
        }),
        "x-kubernetes-preserve-unknown-fields": true,
      },
      status: anything,
    },
    ["spec"],
  ),
  "v1/persistentvolumeclaims": object(
    { spec: bundled("Sandbox", "spec", "volumeClaimTemplates", "[]", "spec"), status: anything },
    ["spec"],
  ),
  "v1/configmaps": object({ data: textMap, binaryData: textMap, immutable: flag }),
  "v1/secrets": object({ type: text, data: textMap, stringData: textMap, immutable: flag }),
  "v1/serviceaccounts": object({
    secrets: listOf(reference),
    imagePullSecrets: listOf(object({ name: text })),
    automountServiceAccountToken: flag,
  }),
  "v1/events": object({
    ...eventCommon,
    involvedObject: reference,
    message: text,
    source: eventSource,
    firstTimestamp: microTime,
    lastTimestamp: microTime,
    count: int32,
    reportingComponent: text,
  }),
  "events.k8s.io/v1/events": object({
    ...eventCommon,
    regarding: reference,
    note: text,
    deprecatedSource: eventSource,
    deprecatedFirstTimestamp: microTime,
    deprecatedLastTimestamp: microTime,
    deprecatedCount: int32,
    reportingController: text,
  }),
  "coordination.k8s.io/v1/leases": object({
    spec: object({
      holderIdentity: text,
      leaseDurationSeconds: int32,
      leaseTransitions: int32,
      acquireTime: microTime,
      renewTime: microTime,
      strategy: text,
      preferredHolder: text,
    }),
  }),
  "networking.k8s.io/v1/networkpolicies": object({
    spec: object({
      podSelector: object({
        matchLabels: textMap,
        matchExpressions: listOf(object({ key: text, operator: text, values: texts }, ["key", "operator"])),
      }),
      policyTypes: texts,
      ingress: bundled("SandboxTemplate", "spec", "networkPolicy", "ingress"),
      egress: bundled("SandboxTemplate", "spec", "networkPolicy", "egress"),
    }),
  }),
  "node.k8s.io/v1/runtimeclasses": object({ handler: text, overhead: anything, scheduling: anything }, ["handler"]),
};

export function builtinSchema(plural: string, apiVersion: string): Schema {
  const schema = schemas[`${apiVersion}/${plural}`];
  if (schema === undefined) throw new Error(`Cannot serve ${plural}: no schema for "${apiVersion}"`);
  return schema;
}

/** Our own kinds embed whole Kubernetes types: their schemas serve for the types themselves. */
function bundled(kind: string, ...path: readonly string[]): Schema {
  let schema: Schema | undefined = crds
    .find(({ spec }) => spec.names.kind === kind)
    ?.spec.versions.find(({ storage }) => storage)?.schema?.openAPIV3Schema;
  for (const key of path) schema = key === "[]" ? schema?.items : schema?.properties?.[key];
  if (schema === undefined) throw new Error(`Cannot find the schema of ${path.join(".")} in ${kind}`);
  return schema;
}
