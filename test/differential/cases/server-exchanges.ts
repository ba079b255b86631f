import type { Case, ExchangeStep } from "../case.ts";

const get = (path: string, headers: Record<string, string> = {}): ExchangeStep => ({ method: "GET", path, headers });
const post = (path: string, body: object): ExchangeStep => ({ method: "POST", path, body });
const aggregated = { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" };
const groups = [
  "agents.x-k8s.io/v1beta1",
  "agents.x-k8s.io/v1alpha1",
  "extensions.agents.x-k8s.io/v1beta1",
  "extensions.agents.x-k8s.io/v1alpha1",
  "rbac.authorization.k8s.io/v1",
  "coordination.k8s.io/v1",
  "discovery.k8s.io/v1",
  "events.k8s.io/v1",
  "authentication.k8s.io/v1",
  "authorization.k8s.io/v1",
  "node.k8s.io/v1",
  "scheduling.k8s.io/v1",
  "apiextensions.k8s.io/v1",
  "networking.k8s.io/v1",
  "storage.k8s.io/v1",
];

const review = (kind: string, spec: object): object => ({ apiVersion: "authorization.k8s.io/v1", kind, spec });
const crd = (more: object): object => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "{{ns}}s.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "{{ns}}s", singular: "{{ns}}", kind: "Widget{{ns}}", listKind: "Widget{{ns}}List" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", properties: { size: { type: "integer", minimum: 1, default: 3 } } },
            },
          },
        },
      },
    ],
    ...more,
  },
});
const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const definition = `${crds}/{{ns}}s.example.com`;
const ownVersion = (name: string, properties: object, more: object = {}): object => ({
  name,
  served: true,
  storage: true,
  schema: {
    openAPIV3Schema: {
      type: "object",
      properties: {
        spec: { type: "object", properties },
        status: { type: "object", properties: { size: { type: "integer" }, selector: { type: "string" } } },
      },
    },
  },
  ...more,
});
const extras = {
  subresources: {
    status: {},
    scale: {
      specReplicasPath: ".spec.size",
      statusReplicasPath: ".status.size",
      labelSelectorPath: ".status.selector",
    },
  },
  selectableFields: [{ jsonPath: ".spec.shape" }],
  additionalPrinterColumns: [
    { name: "Size", type: "integer", jsonPath: ".spec.size" },
    { name: "Shape", type: "string", jsonPath: ".spec.shape", priority: 1, description: "How it looks" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
};
const asTable = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
const merge = (path: string, body: object): ExchangeStep => ({
  method: "PATCH",
  path,
  headers: { "content-type": "application/merge-patch+json" },
  body,
});
const widgets = "/apis/example.com/v1/namespaces/{{ns}}/{{ns}}s";
const widget = (name: string, spec: object): object => ({
  apiVersion: "example.com/v1",
  kind: "Widget{{ns}}",
  metadata: { name },
  spec,
});

const pools = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/{{ns}}/sandboxwarmpools";
const pool = {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxWarmPool",
  metadata: { name: "pool" },
  spec: { sandboxTemplateRef: { name: "t" } },
};
const applyScale = (manager: string, spec: object): ExchangeStep => ({
  method: "PATCH",
  path: `${pools}/pool/scale?fieldManager=${manager}`,
  headers: { "content-type": "application/apply-patch+yaml" },
  body: { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "pool" }, spec },
});

const bindingTo = (target: object): ExchangeStep =>
  post("/api/v1/namespaces/{{ns}}/pods/p/binding", {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name: "p" },
    target,
  });

/** What does not belong to one kind: paths, discovery, access, and kinds that are made at run time. */
export const serverExchanges: readonly Case[] = [
  ...groups.map(
    (group): Case => ({
      name: `discovery of ${group}`,
      steps: [get(`/apis/${group}`), get(`/apis/${group.split("/")[0]}`)],
    }),
  ),
  { name: "discovery of v1", steps: [get("/api"), get("/api/v1")] },
  { name: "discovery of all", steps: [get("/apis"), get("/apis", aggregated), get("/api", aggregated)] },
  {
    name: "paths that lead nowhere",
    steps: [
      get("/nosuch"),
      get("/api/v2"),
      get("/api/v1/nosuch"),
      get("/api/v1/namespaces/{{ns}}/nosuch"),
      get("/apis/nosuch.example.com"),
      get("/apis/nosuch.example.com/v1"),
      get("/apis/agents.x-k8s.io/v9"),
      get("/apis/agents.x-k8s.io/v9/sandboxes"),
      get("/api/v1/namespaces/{{ns}}/nodes"),
      get("/api/v1/namespaces/nowhere/configmaps"),
      post("/api/v1/namespaces/nowhere/configmaps", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } }),
      get("/api/v1/namespaces//configmaps"),
      get("/api/v1/namespaces/{{ns}}/configmaps/a%2Fb"),
    ],
  },
  { name: "health", steps: [get("/healthz"), get("/livez"), get("/readyz"), get("/readyz?verbose=1&exclude=all")] },
  {
    name: "nobody and the wrong somebody",
    steps: [
      get("/api/v1/namespaces/{{ns}}/pods", { authorization: "Bearer wrong" }),
      get("/api/v1/namespaces/{{ns}}/pods", { authorization: "Basic YTpi" }),
      get("/healthz", { authorization: "Basic YTpi" }),
      get("/version", { authorization: "Basic YTpi" }),
      get("/api/v1/namespaces/{{ns}}/pods", { "impersonate-user": "someone" }),
      get("/api/v1/nodes/a", { "impersonate-user": "someone" }),
      get("/api/v1/namespaces/{{ns}}/pods", { "impersonate-group": "some" }),
      get("/metrics", { "impersonate-user": "someone" }),
    ],
  },
  {
    name: "reviews",
    steps: [
      post(
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        review("SelfSubjectAccessReview", { resourceAttributes: { verb: "get", resource: "pods" } }),
      ),
      post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review("SelfSubjectAccessReview", {})),
      post(
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        review("SubjectAccessReview", { user: "someone", resourceAttributes: { verb: "get", resource: "pods" } }),
      ),
      post(
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        review("SubjectAccessReview", { resourceAttributes: { verb: "get" } }),
      ),
      post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "SelfSubjectReview",
      }),
      post("/apis/authentication.k8s.io/v1/tokenreviews", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        spec: { token: "wrong" },
      }),
    ],
  },
  {
    name: "own kind",
    steps: [
      post(crds, crd({})),
      { ...get(widgets), retryUntil: 200 },
      post(widgets, widget("a", {})),
      post(widgets, widget("b", { size: 0 })),
      post(widgets, widget("c", { size: 1, color: "red" })),
      get(widgets),
      get(`${widgets}/a`, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }),
      { method: "DELETE", path: `${crds}/{{ns}}s.example.com` },
      { ...get(`${crds}/{{ns}}s.example.com`), retryUntil: 404 },
      { ...get(widgets), retryUntil: 404 },
    ],
  },
  {
    name: "own kind that changes",
    steps: [
      post(
        crds,
        crd({ versions: [ownVersion("v1", { size: { type: "integer" }, shape: { type: "string" } }, extras)] }),
      ),
      { ...get(widgets), retryUntil: 200 },
      post(widgets, { ...widget("a", { size: 3, shape: "round" }), status: { size: 9 } }),
      merge(`${widgets}/a/status`, { status: { size: 4, selector: "a=b" }, spec: { size: 5 } }),
      get(`${widgets}/a/scale`),
      get(`${widgets}?fieldSelector=spec.shape=round`),
      get(`${widgets}?fieldSelector=spec.size=3`),
      get(widgets, asTable),
      merge(definition, { spec: { scope: "Cluster" } }),
      merge(definition, { spec: { names: { kind: "Other" } } }),
      merge(definition, { spec: { versions: [ownVersion("v2", {})] } }),
      merge(definition, {
        spec: {
          versions: [ownVersion("v1", { color: { type: "string", default: "red" }, size: { type: "integer" } })],
        },
      }),
      { ...get(`${widgets}/a/scale`), retryUntil: 404 },
      get(`${widgets}/a`),
      get(widgets),
      get(`${widgets}?watch=true&timeoutSeconds=1`),
      merge(`${widgets}/a`, { metadata: { labels: { touched: "yes" } } }),
    ],
  },
  {
    name: "own kind of several versions",
    steps: [
      post(
        crds,
        crd({
          versions: [
            { ...ownVersion("v1", { a: { type: "string" } }), storage: false, deprecated: true },
            ownVersion("v2", { a: { type: "string" }, b: { type: "string", default: "x" } }),
            { ...ownVersion("v3beta1", { a: { type: "string" } }), storage: false, served: false },
          ],
        }),
      ),
      { ...get(widgets), retryUntil: 200 },
      post(widgets, widget("a", { a: "1", b: "2" })),
      get(`${widgets.replace("/v1/", "/v2/")}/a`),
      get(`${widgets}/a`),
      get(`${widgets.replace("/v1/", "/v3beta1/")}/a`),
      merge(`${widgets}/a`, { spec: { a: "2" } }),
      get(widgets.replace("/v1/", "/v2/")),
    ],
  },
  {
    name: "bad kinds",
    steps: [
      post(crds, crd({ scope: "Galaxy" })),
      post(crds, crd({ versions: [] })),
      post(crds, crd({ versions: [{ name: "v1", served: true, storage: true }] })),
      post(crds, crd({ group: "other.example.com" })),
      post(
        crds,
        crd({
          versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "array" } } }],
        }),
      ),
    ],
  },
  {
    name: "bad scale",
    steps: [
      post(pools, pool),
      ...["", "?dryRun=All"].map(
        (query): ExchangeStep => ({
          method: "PATCH",
          path: `${pools}/pool/scale${query}`,
          headers: { "content-type": "application/merge-patch+json" },
          body: { spec: { replicas: 4 } },
        }),
      ),
      {
        method: "PUT",
        path: `${pools}/pool/scale`,
        body: { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "pool" }, spec: { replicas: -4 } },
      },
      get(`${pools}/pool/scale`),
      get("/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/{{ns}}/sandboxtemplates/t/scale"),
    ],
  },
  {
    name: "scale by apply",
    steps: [
      post(pools, pool),
      applyScale("one", { replicas: 3 }),
      applyScale("", { replicas: 5 }),
      applyScale("one&force=true", { replicas: 3 }),
    ],
  },
  {
    name: "a pod with an account",
    steps: [
      post("/api/v1/namespaces/{{ns}}/serviceaccounts", {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name: "robot" },
        imagePullSecrets: [{ name: "registry" }],
      }),
      ...[false, true].map((automountServiceAccountToken) =>
        post("/api/v1/namespaces/{{ns}}/pods", {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: `mounts-${automountServiceAccountToken}` },
          spec: {
            automountServiceAccountToken,
            serviceAccountName: "robot",
            containers: [{ name: "main", image: "busybox:1" }],
          },
        }),
      ),
    ],
  },
  {
    name: "a namespace without its finalizer",
    steps: [
      post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "{{ns}}-more" } }),
      ...[["no-slash"], ["bad name/x"], ["example.com/x", "kubernetes"], []].map(
        (finalizers): ExchangeStep => ({
          method: "PUT",
          path: "/api/v1/namespaces/{{ns}}-more/finalize",
          body: { apiVersion: "v1", kind: "Namespace", metadata: { name: "{{ns}}-more" }, spec: { finalizers } },
        }),
      ),
      get("/api/v1/namespaces/{{ns}}-more/finalize"),
      get("/api/v1/namespaces/{{ns}}-more"),
    ],
  },
  {
    name: "a pod of a runtime class",
    steps: [
      post("/apis/node.k8s.io/v1/runtimeclasses", {
        apiVersion: "node.k8s.io/v1",
        kind: "RuntimeClass",
        metadata: { name: "{{ns}}" },
        handler: "vm",
        overhead: { podFixed: { memory: "64Mi", cpu: "0.1" } },
        scheduling: { nodeSelector: { vm: "yes" }, tolerations: [{ key: "vm", operator: "Exists" }] },
      }),
      ...[
        {},
        { nodeSelector: { a: "b" }, tolerations: [{ key: "c", operator: "Exists" }] },
        { nodeSelector: { vm: "no" } },
      ].map((more, at) =>
        post("/api/v1/namespaces/{{ns}}/pods", {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: `p${at}` },
          spec: {
            ...more,
            runtimeClassName: "{{ns}}",
            automountServiceAccountToken: false,
            containers: [{ name: "main", image: "busybox:1" }],
          },
        }),
      ),
    ],
  },
  {
    name: "a pod that waits for a word",
    steps: [
      post("/api/v1/namespaces/{{ns}}/pods", {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "p" },
        spec: {
          automountServiceAccountToken: false,
          schedulingGates: [{ name: "example.com/quota" }],
          tolerations: [{ key: "a", operator: "Exists", effect: "NoExecute" }],
          containers: [{ name: "main", image: "busybox:1" }],
        },
      }),
      get("/api/v1/namespaces/{{ns}}/pods/p", { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }),
      ...[
        { schedulingGates: [{ name: "example.com/other" }] },
        { tolerations: [{ key: "b", operator: "Exists", effect: "NoExecute" }] },
        { tolerations: [{ key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 }] },
        { schedulingGates: [] },
      ].map(
        (spec): ExchangeStep => ({
          method: "PATCH",
          path: "/api/v1/namespaces/{{ns}}/pods/p",
          headers: { "content-type": "application/merge-patch+json" },
          body: { spec },
        }),
      ),
      get("/api/v1/namespaces/{{ns}}/pods/p", { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }),
    ],
  },
  {
    name: "bindings",
    steps: [
      post("/api/v1/namespaces/{{ns}}/pods", {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "p" },
        spec: { automountServiceAccountToken: false, containers: [{ name: "main", image: "busybox:1" }] },
      }),
      bindingTo({ kind: "Pod", name: "x" }),
      bindingTo({}),
      bindingTo({ kind: "Node", name: "box" }),
      bindingTo({ kind: "Node", name: "box" }),
      get("/api/v1/namespaces/{{ns}}/pods/p"),
    ],
  },
  {
    name: "a pod with nothing in its fields",
    steps: [
      post("/api/v1/namespaces/{{ns}}/pods", {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "empty", labels: {}, annotations: {}, finalizers: [] },
        spec: {
          automountServiceAccountToken: false,
          hostNetwork: false,
          hostPID: false,
          hostIPC: false,
          volumes: [],
          initContainers: [],
          containers: [
            {
              name: "main",
              image: "busybox:1",
              stdin: false,
              stdinOnce: false,
              tty: false,
              env: [],
              args: [],
              ports: [],
            },
          ],
        },
      }),
    ],
  },
  {
    name: "tokens of accounts",
    steps: [
      post("/api/v1/namespaces/{{ns}}/serviceaccounts/nosuch/token", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: {},
      }),
      post("/api/v1/namespaces/{{ns}}/serviceaccounts/default/token", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds: 1 },
      }),
    ],
  },
  {
    name: "logs of containers",
    steps: [
      post("/api/v1/namespaces/{{ns}}/pods", {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "p" },
        spec: {
          automountServiceAccountToken: false,
          initContainers: [{ name: "first", image: "busybox:1" }],
          containers: ["a", "b"].map((name) => ({ name, image: "busybox:1" })),
        },
      }),
      get("/api/v1/namespaces/{{ns}}/pods/p/log"),
      get("/api/v1/namespaces/{{ns}}/pods/p/log?container=a"),
      get("/api/v1/namespaces/{{ns}}/pods/p/log?container=first"),
      get("/api/v1/namespaces/{{ns}}/pods/p/log?container=nosuch"),
    ],
  },
  {
    name: "streams without a node",
    steps: [
      get("/api/v1/namespaces/{{ns}}/pods/nosuch/log"),
      post("/api/v1/namespaces/{{ns}}/pods/nosuch/exec?command=true&stdout=true", {}),
      post("/api/v1/namespaces/{{ns}}/pods/nosuch/eviction", {
        apiVersion: "policy/v1",
        kind: "Eviction",
        metadata: { name: "nosuch" },
      }),
      post("/api/v1/namespaces/{{ns}}/pods/nosuch/binding", {
        apiVersion: "v1",
        kind: "Binding",
        metadata: { name: "nosuch" },
        target: { kind: "Node", name: "box" },
      }),
    ],
  },
];
