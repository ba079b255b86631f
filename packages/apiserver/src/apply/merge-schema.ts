/** The part of a schema that merging uses: of a structural schema, or of Kubernetes' OpenAPI with references resolved. */
export interface MergeSchema {
  readonly type?: string;
  readonly format?: string;
  readonly default?: unknown;
  readonly properties?: { readonly [name: string]: MergeSchema };
  readonly additionalProperties?: boolean | MergeSchema;
  readonly items?: MergeSchema;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
  readonly "x-kubernetes-list-type"?: string;
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: string;
  readonly "x-kubernetes-patch-strategy"?: string;
  readonly "x-kubernetes-patch-merge-key"?: string;
}

const text: MergeSchema = { type: "string" };
const time: MergeSchema = { type: "string", format: "date-time" };
const integer: MergeSchema = { type: "integer" };
const textMap: MergeSchema = { type: "object", additionalProperties: text };
const anything: MergeSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

const ownerReference: MergeSchema = {
  type: "object",
  properties: {
    apiVersion: text,
    kind: text,
    name: text,
    uid: text,
    controller: { type: "boolean" },
    blockOwnerDeletion: { type: "boolean" },
  },
  "x-kubernetes-map-type": "atomic",
};

export const objectMetaSchema: MergeSchema = {
  type: "object",
  properties: {
    annotations: textMap,
    creationTimestamp: time,
    deletionGracePeriodSeconds: integer,
    deletionTimestamp: time,
    finalizers: {
      type: "array",
      items: text,
      "x-kubernetes-list-type": "set",
      "x-kubernetes-patch-strategy": "merge",
    },
    generateName: text,
    generation: integer,
    labels: textMap,
    managedFields: { type: "array", items: anything, "x-kubernetes-list-type": "atomic" },
    name: text,
    namespace: text,
    ownerReferences: {
      type: "array",
      items: ownerReference,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["uid"],
      "x-kubernetes-patch-strategy": "merge",
      "x-kubernetes-patch-merge-key": "uid",
    },
    resourceVersion: text,
    selfLink: text,
    uid: text,
  },
};

/** The schema of a whole object: `apiVersion`, `kind` and `metadata` as in all objects, and the rest from the kind's schema. */
export function wholeObjectSchema(schema: MergeSchema): MergeSchema {
  const { "x-kubernetes-embedded-resource": _embedded, ...rest } = schema;
  const properties = { ...schema.properties, apiVersion: text, kind: text, metadata: objectMetaSchema };
  return { ...rest, type: "object", properties };
}
