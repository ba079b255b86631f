import type { Case, ExchangeStep } from "../case.ts";
import { get, merge, post } from "./exchange-steps.ts";

const namespace = "/api/v1/namespaces/{{ns}}";
const remove = (path: string, body?: object): ExchangeStep => ({
  method: "DELETE",
  path,
  ...(body === undefined ? {} : { body }),
});

const configMaps = `${namespace}/configmaps`;
const configMap = (name: string): ExchangeStep =>
  post(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels: { test: "{{ns}}" } } });
const pods = `${namespace}/pods`;
const pod = (name: string, spec: object = {}): ExchangeStep =>
  post(pods, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { automountServiceAccountToken: false, containers: [{ name: "main", image: "busybox:1" }], ...spec },
  });
const services = `${namespace}/services`;
const service = (name: string, spec: object): ExchangeStep =>
  post(services, { apiVersion: "v1", kind: "Service", metadata: { name }, spec });
const respec = (name: string, spec: object): ExchangeStep => merge(`${services}/${name}`, { spec });
const secret = (name: string, more: object): ExchangeStep =>
  post(`${namespace}/secrets`, { apiVersion: "v1", kind: "Secret", metadata: { name }, ...more });
const eviction = (more: object = {}, query = ""): ExchangeStep =>
  post(`${pods}/p/eviction${query}`, { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" }, ...more });
const port = { ports: [{ port: 80 }] };

/** Common requests of clients and controllers. */
export const everydayExchanges: readonly Case[] = [
  {
    name: "lists of one revision",
    steps: [
      { ...configMap("a"), save: { rv: "metadata.resourceVersion" } },
      configMap("b"),
      ...[
        "&resourceVersion={{rv}}&resourceVersionMatch=Exact",
        "&resourceVersion={{rv}}&resourceVersionMatch=NotOlderThan",
        "&resourceVersion={{rv}}",
        "&resourceVersion=0",
        "&resourceVersion={{rv}}&limit=1",
        "&resourceVersion=99999999&timeoutSeconds=1",
      ].map((query) => get(`${configMaps}?labelSelector=test={{ns}}${query}`)),
    ],
  },
  {
    name: "watches of one object",
    steps: [
      configMap("a"),
      get(`${configMaps}/a?watch=true&timeoutSeconds=1`),
      get(`${configMaps}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name=a`),
      get(`${configMaps}?watch=0&fieldSelector=metadata.name=a`),
    ],
  },
  {
    name: "graces and orphans",
    steps: [
      ...["a", "b", "c"].map(configMap),
      remove(`${configMaps}/a?orphanDependents=true`),
      remove(`${configMaps}/b?orphanDependents=false`),
      remove(`${configMaps}/c`, { gracePeriodSeconds: 5 }),
      pod("unbound"),
      remove(`${pods}/unbound`),
      pod("bound", { nodeName: "nowhere" }),
      remove(`${pods}/bound`),
      remove(`${pods}/bound?gracePeriodSeconds=5`),
      remove(`${pods}/bound?gracePeriodSeconds=60`),
      remove(`${pods}/bound?gracePeriodSeconds=0`),
      get(`${pods}/bound`),
    ],
  },
  {
    name: "evictions",
    steps: [
      pod("p", { nodeName: "nowhere" }),
      eviction({ metadata: { name: "other" } }),
      eviction({ deleteOptions: { dryRun: ["All"] } }),
      eviction({}, "?dryRun=All"),
      eviction({ deleteOptions: { preconditions: { uid: "00000000-0000-0000-0000-000000000000" } } }),
      eviction({ deleteOptions: { gracePeriodSeconds: 7 } }),
      get(`${pods}/p`),
    ],
  },
  {
    name: "services of every type",
    steps: [
      service("a", { type: "NodePort", ...port }),
      service("b", { type: "LoadBalancer", ...port }),
      service("c", { type: "ExternalName", externalName: "example.com" }),
      service("d", { clusterIP: "None", ...port }),
      service("e", { ipFamilyPolicy: "PreferDualStack", ...port }),
      service("f", { ...port, sessionAffinity: "ClientIP" }),
      service("g", { clusterIP: "None" }),
      service("h", { type: "ExternalName" }),
      service("i", { ports: [{ port: 80, nodePort: 30_001 }] }),
      service("j", { type: "NodePort", ports: [{ port: 80, nodePort: 1 }] }),
      { kubectl: ["get", "services", "-o", "wide"] },
      { kubectl: ["describe", "service", "f"] },
    ],
  },
  {
    name: "services that change their type",
    steps: [
      service("a", { type: "LoadBalancer", ...port }),
      respec("a", { type: "NodePort" }),
      respec("a", { type: "ClusterIP" }),
      respec("a", { type: "LoadBalancer" }),
      respec("a", { type: "ExternalName", externalName: "example.com" }),
      respec("a", { type: "ClusterIP", externalName: null }),
      service("b", { type: "NodePort", ports: [{ port: 80, nodePort: 32_701 }] }),
      service("c", { type: "NodePort", ports: [{ port: 80, nodePort: 32_701 }] }),
      respec("b", { ports: [{ port: 81, nodePort: 32_701 }] }),
      respec("b", { type: "ClusterIP", ports: [{ port: 81, nodePort: 32_702 }] }),
    ],
  },
  {
    name: "secrets of every type",
    steps: [
      secret("a", { type: "kubernetes.io/tls", data: {} }),
      secret("b", { type: "kubernetes.io/basic-auth", data: {} }),
      secret("c", { type: "kubernetes.io/ssh-auth" }),
      secret("d", { type: "kubernetes.io/service-account-token" }),
      secret("e", { type: "example.com/own", stringData: { a: "b" }, data: { a: "Yw==" } }),
      secret("f", { immutable: true, data: { a: "Yg==" } }),
      secret("g", { data: { "bad key": "Yg==" } }),
      merge(`${namespace}/secrets/f`, { data: { a: "Yw==" } }),
      merge(`${namespace}/secrets/e`, { type: "example.com/other" }),
      merge(`${namespace}/secrets/e`, { stringData: { x: "y" } }),
      get(`${namespace}/secrets?fieldSelector=type=example.com/own`),
    ],
  },
  {
    name: "events by what they are about",
    steps: [
      post("/apis/events.k8s.io/v1/namespaces/{{ns}}/events", {
        apiVersion: "events.k8s.io/v1",
        kind: "Event",
        metadata: { name: "e" },
        regarding: { kind: "Pod", namespace: "{{ns}}", name: "x" },
        eventTime: "2024-01-01T00:00:00.000000Z",
        reason: "Seen",
        action: "Looking",
        type: "Normal",
        reportingController: "example.com/watcher",
        reportingInstance: "one",
      }),
      get("/apis/events.k8s.io/v1/namespaces/{{ns}}/events?fieldSelector=regarding.name=x"),
      get("/apis/events.k8s.io/v1/namespaces/{{ns}}/events?fieldSelector=reportingController=example.com/other"),
      get(`${namespace}/events?fieldSelector=involvedObject.kind=Pod,reason=Seen`),
    ],
  },
  {
    name: "small questions",
    steps: [
      { method: "HEAD", path: configMaps },
      { method: "OPTIONS", path: configMaps },
      get("/livez/ping"),
      get("/healthz/ping"),
      get("/readyz/ping"),
      get(`${configMaps}/?labelSelector=test={{ns}}`),
    ],
  },
];
