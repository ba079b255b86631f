import type { ServedResource } from "../resources/registry.ts";

const objectVerbs: readonly string[] = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
];

/** In the order of Kubernetes. */
const customVerbs: readonly string[] = [
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "create",
  "update",
  "watch",
];

/** The verbs of a resource. Reviews support only create, and measured kinds are only read. */
export function verbsOf({ definition }: ServedResource): readonly string[] {
  if (definition.review !== undefined) return ["create"];
  if (definition.measured !== undefined) return ["get", "list"];
  if (!definition.typed) return customVerbs;
  return definition.deletesCollections ? objectVerbs : objectVerbs.filter((verb) => verb !== "deletecollection");
}

export interface Subresource {
  readonly name: string;
  readonly kind: string;
  /** The group of its kind, when it differs from that of the resource. */
  readonly group?: string;
  readonly version?: string;
  readonly verbs: readonly string[];
}

const tokenSubresource: Subresource = {
  name: "token",
  kind: "TokenRequest",
  group: "authentication.k8s.io",
  version: "v1",
  verbs: ["create"],
};

const partVerbs = ["get", "patch", "update"];

const streamVerbs = ["create", "get"];
const proxyVerbs = ["create", "delete", "get", "patch", "update"];
const podParts: readonly Subresource[] = [
  { name: "attach", kind: "PodAttachOptions", verbs: streamVerbs },
  { name: "binding", kind: "Binding", verbs: ["create"] },
  { name: "ephemeralcontainers", kind: "Pod", verbs: partVerbs },
  { name: "eviction", kind: "Eviction", group: "policy", version: "v1", verbs: ["create"] },
  { name: "exec", kind: "PodExecOptions", verbs: streamVerbs },
  { name: "log", kind: "Pod", verbs: ["get"] },
  { name: "portforward", kind: "PodPortForwardOptions", verbs: streamVerbs },
  { name: "proxy", kind: "PodProxyOptions", verbs: proxyVerbs },
];

/** Subresources by resource. */
const parts: { readonly [id: string]: readonly Subresource[] | undefined } = {
  namespaces: [{ name: "finalize", kind: "Namespace", verbs: ["update"] }],
  // The embedded node serves metrics only.
  nodes: [{ name: "proxy", kind: "NodeProxyOptions", verbs: ["get"] }],
  pods: podParts,
  serviceaccounts: [tokenSubresource],
  services: [{ name: "proxy", kind: "ServiceProxyOptions", verbs: proxyVerbs }],
};

export function subresourcesOf({ definition, version }: ServedResource): Subresource[] {
  const { kind, id } = definition;
  return [
    ...(version.hasStatus ? [{ name: "status", kind, verbs: partVerbs }] : []),
    ...(version.scale === undefined
      ? []
      : [{ name: "scale", kind: "Scale", group: "autoscaling", version: "v1", verbs: partVerbs }]),
    ...(parts[id] ?? []),
  ];
}
