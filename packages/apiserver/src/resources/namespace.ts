import { isJsonObject, stringAt, valueAt, withMetadata } from "../api-object.ts";
import type { Strategy } from "./definition.ts";

/** Keeps a namespace until what is in it is gone. */
export const namespaceFinalizer = "kubernetes";

const nameLabel = "kubernetes.io/metadata.name";

/** Without these nothing works: they come back only with the next start. */
const permanent = new Set(["default", "kube-system", "kube-public"]);

export const namespaceStrategy: Strategy = {
  deletionProblem: ({ metadata }) =>
    permanent.has(metadata.name ?? "") ? "this namespace may not be deleted" : undefined,
  // By this label NetworkPolicies select one namespace.
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
  // Who may take the finalizer off is decided by the deletion of the contents alone.
  prepareUpdate: (namespace, old) => ({ ...namespace, spec: old["spec"] }),
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
