import type { FieldError } from "../api-error.ts";
import { isJsonObject, stringAt, valueAt, withMetadata } from "../api-object.ts";
import type { ObjectPart, Strategy } from "./definition.ts";
import { invalidValue } from "./field-problems.ts";
import { qualifiedNameProblems } from "./names.ts";

/** Keeps a namespace until all objects in it are removed. */
export const namespaceFinalizer = "kubernetes";

const nameLabel = "kubernetes.io/metadata.name";

/** These cannot be deleted, because the server needs them and creates them only at its start. */
const permanent = new Set(["default", "kube-system", "kube-public"]);

/** `namespaces/{name}/finalize`: removes the finalizer of a namespace when it is empty. Users call it for a stuck namespace. */
const finalizePart: ObjectPart = {
  path: ["spec", "finalizers"],
  onlyReplaced: true,
  merge: (given, current) => {
    const finalizers = valueAt(given, "spec", "finalizers");
    const none = finalizers === undefined || finalizers === null || (Array.isArray(finalizers) && !finalizers.length);
    return { ...current, spec: none ? {} : { finalizers } };
  },
  setDefaults: (namespace) => namespace,
  validate: (namespace) => finalizerProblems(valueAt(namespace, "spec", "finalizers")),
};

function finalizerProblems(finalizers: unknown): FieldError[] {
  if (!Array.isArray(finalizers)) return [];
  return finalizers.flatMap((finalizer: unknown, at) => {
    const field = `spec.finalizers[${at}]`;
    if (typeof finalizer !== "string" || finalizer === namespaceFinalizer) return [];
    const problems = qualifiedNameProblems(finalizer);
    if (problems.length > 0) return problems.map((problem) => invalidValue(field, finalizer, problem));
    return finalizer.includes("/")
      ? []
      : [invalidValue(field, finalizer, "name is neither a standard finalizer name nor is it fully qualified")];
  });
}

export const namespaceStrategy: Strategy = {
  deletionProblem: ({ metadata }) =>
    permanent.has(metadata.name ?? "") ? "this namespace may not be deleted" : undefined,
  // NetworkPolicies select a namespace by this label.
  setDefaults: (namespace) => {
    const { name = "", labels } = namespace.metadata;
    if (labels?.[nameLabel] === name) return namespace;
    return withMetadata(namespace, { labels: { ...labels, [nameLabel]: name } });
  },
  prepareCreate: (namespace) => ({
    ...namespace,
    spec: { finalizers: [namespaceFinalizer] },
    status: { phase: "Active" },
  }),
  // The spec holds the finalizer, which only `finalize` can change.
  prepareUpdate: (namespace, old) => ({ ...namespace, spec: old["spec"] }),
  parts: new Map([["finalize", finalizePart]]),
  marksTimeAlone: true,
  markDeleted: (namespace) => ({
    ...namespace,
    status: { ...(isJsonObject(namespace["status"]) ? namespace["status"] : {}), phase: "Terminating" },
  }),
  isHeld: (namespace) => {
    const finalizers = valueAt(namespace, "spec", "finalizers");
    return Array.isArray(finalizers) && finalizers.length > 0;
  },
  selectableFields: { "status.phase": (namespace) => stringAt(namespace, "status", "phase") ?? "" },
};
