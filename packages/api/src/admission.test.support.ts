import { admit, validateObject } from "./admission.ts";
import { formatFieldError } from "./schema/field-error.ts";
import type { Json } from "./schema/structural-schema.ts";

export type Fields = { [key: string]: Json };

export const core = "agents.x-k8s.io";
const extensions = "extensions.agents.x-k8s.io";
export const pod: Fields = { spec: { containers: [{ name: "main", image: "i" }] } };
export const disk: Fields = {
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};

interface Written {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: object;
  readonly spec: Fields;
  readonly status?: Fields;
}

const object =
  (group: string, version: string, kind: string) =>
  (spec: Fields, status?: Fields): Written => ({
    apiVersion: `${group}/${version}`,
    kind,
    metadata: { name: "a", namespace: "b" },
    spec,
    ...(status ? { status } : {}),
  });
export const beta = {
  sandbox: (spec: Fields = {}, status?: Fields): Written =>
    object(core, "v1beta1", "Sandbox")({ podTemplate: pod, ...spec }, status),
  template: (spec: Fields = {}): Written =>
    object(extensions, "v1beta1", "SandboxTemplate")({ podTemplate: pod, ...spec }),
  claim: (spec: Fields = {}): Written =>
    object(extensions, "v1beta1", "SandboxClaim")({ warmPoolRef: { name: "p" }, ...spec }),
  pool: (spec: Fields = {}, status?: Fields): Written =>
    object(extensions, "v1beta1", "SandboxWarmPool")({ sandboxTemplateRef: { name: "t" }, ...spec }, status),
};
export const alpha = {
  sandbox: (spec: Fields = {}, status?: Fields): Written =>
    object(core, "v1alpha1", "Sandbox")({ podTemplate: pod, ...spec }, status),
  template: (spec: Fields = {}): Written =>
    object(extensions, "v1alpha1", "SandboxTemplate")({ podTemplate: pod, ...spec }),
  claim: (spec: Fields = {}): Written =>
    object(extensions, "v1alpha1", "SandboxClaim")({ sandboxTemplateRef: { name: "t" }, ...spec }),
  pool: (spec: Fields = {}): Written =>
    object(extensions, "v1alpha1", "SandboxWarmPool")({ replicas: 1, sandboxTemplateRef: { name: "t" }, ...spec }),
};

export const specOf = (given: { spec: Fields }): Fields => {
  const admission = admit(given);
  if ("errors" in admission) throw new Error(admission.errors.map(formatFieldError).join("\n"));
  return admission.object.spec;
};
/** Without the line that says that rules were not run: it follows from the others. */
export const errorsOf = (given: object, old?: object): string[] =>
  validateObject(given, old ? { old } : {})
    .map(formatFieldError)
    .filter((line) => !line.includes("some validation rules were not checked"));
