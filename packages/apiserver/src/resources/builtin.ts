import { type ApiObject, isJsonObject, stringAt, valueAt } from "../api-object.ts";
import { builtinColumns } from "../table/builtin-columns.ts";
import { builtinSchema } from "./builtin-schemas.ts";
import type { Column, ResourceDefinition, ServedVersion, Strategy } from "./definition.ts";
import { eventStrategy } from "./event.ts";
import { namespaceStrategy } from "./namespace.ts";
import { podStrategy } from "./pod/pod-strategy.ts";
import { secretStrategy } from "./secret.ts";
import { serviceStrategy } from "./service.ts";

interface Builtin {
  readonly plural: string;
  readonly kind: string;
  /** Default: core `v1`. The first one is stored. */
  readonly apiVersions?: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly namespaced?: boolean;
  readonly hasStatus?: boolean;
  readonly hasGeneration?: boolean;
  readonly nameRule?: ResourceDefinition["nameRule"];
  readonly returnsDeleted?: boolean;
  readonly strategy?: Strategy;
}

const claimStrategy: Strategy = {
  setDefaults: (claim) => withSpec(claim, { volumeMode: "Filesystem" }),
  prepareCreate: (claim) => ({ ...claim, status: { phase: "Pending" } }),
  selectableFields: { "status.phase": (claim) => stringAt(claim, "status", "phase") ?? "" },
};

const policyStrategy: Strategy = {
  setDefaults: (policy) => {
    const egress = valueAt(policy, "spec", "egress") !== undefined;
    return withSpec(policy, { podSelector: {}, policyTypes: egress ? ["Ingress", "Egress"] : ["Ingress"] });
  },
};

const nodeStrategy: Strategy = {
  selectableFields: { "spec.unschedulable": (node) => String(valueAt(node, "spec", "unschedulable") === true) },
};

function withSpec(object: ApiObject, defaults: object): ApiObject {
  const spec = object["spec"];
  return isJsonObject(spec) ? { ...object, spec: { ...defaults, ...spec } } : object;
}

const all = ["all"];

const builtins: readonly Builtin[] = [
  {
    plural: "namespaces",
    kind: "Namespace",
    shortNames: ["ns"],
    namespaced: false,
    hasStatus: true,
    nameRule: "label",
    strategy: namespaceStrategy,
  },
  { plural: "nodes", kind: "Node", shortNames: ["no"], namespaced: false, hasStatus: true, strategy: nodeStrategy },
  {
    plural: "pods",
    kind: "Pod",
    shortNames: ["po"],
    categories: all,
    hasStatus: true,
    hasGeneration: true,
    returnsDeleted: true,
    strategy: podStrategy,
  },
  {
    plural: "services",
    kind: "Service",
    shortNames: ["svc"],
    categories: all,
    hasStatus: true,
    nameRule: "service",
    returnsDeleted: true,
    strategy: serviceStrategy,
  },
  {
    plural: "persistentvolumeclaims",
    kind: "PersistentVolumeClaim",
    shortNames: ["pvc"],
    hasStatus: true,
    returnsDeleted: true,
    strategy: claimStrategy,
  },
  { plural: "configmaps", kind: "ConfigMap", shortNames: ["cm"] },
  { plural: "secrets", kind: "Secret", strategy: secretStrategy },
  { plural: "serviceaccounts", kind: "ServiceAccount", shortNames: ["sa"], returnsDeleted: true },
  {
    plural: "events",
    kind: "Event",
    shortNames: ["ev"],
    apiVersions: ["v1", "events.k8s.io/v1"],
    strategy: eventStrategy,
  },
  { plural: "leases", kind: "Lease", apiVersions: ["coordination.k8s.io/v1"] },
  {
    plural: "networkpolicies",
    kind: "NetworkPolicy",
    shortNames: ["netpol"],
    apiVersions: ["networking.k8s.io/v1"],
    hasGeneration: true,
    strategy: policyStrategy,
  },
  { plural: "runtimeclasses", kind: "RuntimeClass", apiVersions: ["node.k8s.io/v1"], namespaced: false },
];

export const builtinDefinitions: readonly ResourceDefinition[] = builtins.map(define);

function define(builtin: Builtin): ResourceDefinition {
  const { plural, kind, apiVersions = ["v1"] } = builtin;
  const [storage, ...others] = apiVersions.map((apiVersion) => servedVersion(builtin, apiVersion));
  return {
    id: plural,
    kind,
    plural,
    singular: kind.toLowerCase(),
    shortNames: builtin.shortNames ?? [],
    categories: builtin.categories ?? [],
    namespaced: builtin.namespaced ?? true,
    versions: [storage as ServedVersion, ...others],
    nameRule: builtin.nameRule ?? "subdomain",
    hasGeneration: builtin.hasGeneration ?? false,
    unconditionalUpdate: true,
    returnsDeleted: builtin.returnsDeleted ?? false,
    strategy: builtin.strategy ?? {},
  };
}

/** Columns are written for the stored version; other versions are turned into that first. */
function onStored(column: Column, { apiVersions: [stored] = ["v1"], strategy = {} }: Builtin): Column {
  const toStored = (object: ApiObject): ApiObject =>
    object.apiVersion === stored ? object : (strategy.convert?.(object, stored as string) ?? object);
  return { ...column, cell: (object, nowMs) => column.cell(toStored(object), nowMs) };
}

function servedVersion(builtin: Builtin, apiVersion: string): ServedVersion {
  const { plural, hasStatus = false } = builtin;
  const slash = apiVersion.indexOf("/");
  return {
    group: slash < 0 ? "" : apiVersion.slice(0, slash),
    version: apiVersion.slice(slash + 1),
    apiVersion,
    schema: builtinSchema(plural, apiVersion),
    hasStatus,
    columns: (builtinColumns[plural] ?? []).map((column) => onStored(column, builtin)),
  };
}
