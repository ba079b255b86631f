import type { Case, ExchangeStep } from "../case.ts";
import { get, merge, post } from "./exchange-steps.ts";

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

/** Requests that are not about one kind: paths, discovery, access, scale. */
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
    name: "bad scale",
    steps: [
      post(pools, pool),
      ...["", "?dryRun=All"].map((query) => merge(`${pools}/pool/scale${query}`, { spec: { replicas: 4 } })),
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
];
