import type { OpenApiSchema } from "../resources/builtin-definitions.ts";

/** What `kubectl explain` says about the kinds. */
const kinds: { readonly [kind: string]: string | undefined } = {
  ClusterRole: "Permissions that can be granted in one namespace or in all of them.",
  ClusterRoleBinding: "Grants the permissions of a ClusterRole everywhere.",
  ConfigMap: "Settings that Pods read as variables or files.",
  CustomResourceDefinition: "A kind that the server serves besides the built-in ones.",
  Endpoints: "The addresses behind a Service; EndpointSlice is its successor.",
  EndpointSlice: "Some of the addresses behind a Service.",
  Event: "Something that happened to an object; it is kept for a while only.",
  Lease: "Who holds a role, and until when: how one of several processes becomes the leader.",
  LocalSubjectAccessReview: "Asks whether somebody may do something in one namespace.",
  Namespace: "A space for names, and what is deleted together.",
  NetworkPolicy: "Which traffic may reach and leave Pods.",
  Node: "A machine that runs Pods.",
  PersistentVolume: "Storage that exists apart from Pods.",
  PersistentVolumeClaim: "Asks for storage that outlives Pods.",
  Pod: "Containers that run together on one node.",
  PriorityClass: "How important Pods are to the scheduler.",
  Role: "Permissions in one namespace.",
  RoleBinding: "Grants the permissions of a role in one namespace.",
  RuntimeClass: "What runs the containers of Pods that name it.",
  Secret: "Settings that few may read, which Pods read as variables or files.",
  SelfSubjectAccessReview: "Asks whether who asks may do something.",
  SelfSubjectReview: "Asks who the server takes the asker for.",
  SelfSubjectRulesReview: "Asks what who asks may do in one namespace.",
  Service: "A stable name and address for Pods that a selector finds.",
  ServiceAccount: "An identity for what runs in Pods.",
  StorageClass: "How storage for claims is made.",
  SubjectAccessReview: "Asks whether somebody may do something.",
  TokenReview: "Asks whose a token is, and whether it holds.",
};

const fields: { readonly [field: string]: string | undefined } = {
  items: "The objects of the list.",
  apiVersion: "The version of the schema that this object follows.",
  kind: "What the object is.",
  metadata: "What every object has: its name, labels, annotations and owners.",
  spec: "What is wanted.",
  status: "What has been observed. Controllers write it, users read it.",
};

export function describeKind(schema: OpenApiSchema, kind: string): OpenApiSchema {
  const description = schema.description ?? kinds[kind];
  return description === undefined ? schema : { ...schema, description };
}

/** Adds what can be said about the fields that every kind has. */
export function describe(schema: OpenApiSchema): OpenApiSchema {
  if (schema["x-kubernetes-group-version-kind"] === undefined || schema.properties === undefined) return schema;
  const properties = Object.entries(schema.properties).map(([name, property]) => {
    const description = property.description ?? fields[name];
    return [name, description === undefined ? property : { ...property, description }] as const;
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}
