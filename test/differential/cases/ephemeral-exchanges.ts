import type { Case, ExchangeStep } from "../case.ts";

const pods = "/api/v1/namespaces/{{ns}}/pods";
const part = `${pods}/p/ephemeralcontainers`;
const types = {
  strategic: "application/strategic-merge-patch+json",
  merge: "application/merge-patch+json",
  operations: "application/json-patch+json",
};

const pod = (spec: object = {}): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", labels: { app: "demo" } },
  spec: {
    automountServiceAccountToken: false,
    containers: [{ name: "main", image: "busybox:1" }],
    volumes: [{ name: "data", emptyDir: {} }],
    ...spec,
  },
});
const patch = (containers: readonly object[], type: keyof typeof types = "strategic", more = ""): ExchangeStep => ({
  method: "PATCH",
  path: `${part}${more}`,
  headers: { "content-type": types[type] },
  body: { spec: { ephemeralContainers: containers } },
});
const looker = { name: "look", image: "busybox", stdin: true, tty: true, targetContainerName: "main" };
const get = (path: string): ExchangeStep => ({ method: "GET", path });
const create: ExchangeStep = { method: "POST", path: pods, body: pod() };

/** Ephemeral containers, as `kubectl debug` adds them, and invalid changes of them. */
export const ephemeralExchanges: readonly Case[] = [
  {
    name: "ephemeral containers",
    managedFields: true,
    steps: [
      create,
      get(part),
      patch([looker]),
      patch([looker]),
      patch([{ name: "second", image: "busybox:1", volumeMounts: [{ name: "data", mountPath: "/data" }] }]),
      {
        method: "PATCH",
        path: part,
        headers: { "content-type": types.merge },
        body: { metadata: { labels: { a: "b" } } },
      },
      get(`${pods}/p`),
    ],
  },
  {
    name: "ephemeral containers by replacement",
    managedFields: true,
    steps: [
      create,
      { method: "PUT", path: part, body: pod({ ephemeralContainers: [looker], hostNetwork: true }) },
      { method: "PUT", path: part, body: { ...pod(), metadata: { name: "p", resourceVersion: "1" } } },
      { method: "POST", path: part, body: pod() },
      { method: "DELETE", path: part },
      { method: "PUT", path: part.replace("/p/", "/nosuch/"), body: pod() },
      get(part.replace("/p/", "/nosuch/")),
      get(`${pods}/p`),
    ],
  },
  {
    name: "ephemeral containers by operations and by apply",
    managedFields: true,
    steps: [
      create,
      {
        method: "PATCH",
        path: part,
        headers: { "content-type": types.operations },
        body: JSON.stringify([{ op: "add", path: "/spec/ephemeralContainers", value: [looker] }]),
      },
      {
        method: "PATCH",
        path: `${part}?fieldManager=me&force=true`,
        headers: { "content-type": "application/apply-patch+yaml" },
        body: {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: "p", labels: { mine: "x" } },
          spec: { ephemeralContainers: [{ name: "applied", image: "busybox:1" }] },
        },
      },
      patch([{ name: "never", image: "busybox:1" }], "strategic", "?dryRun=All"),
      get(`${pods}/p`),
    ],
  },
  {
    name: "ephemeral containers that are refused",
    steps: [
      { method: "POST", path: pods, body: pod({ ephemeralContainers: [{ name: "look", image: "busybox" }] }) },
      create,
      patch([{ name: "main", image: "busybox:1" }]),
      patch([{ name: "look", image: "busybox:1", targetContainerName: "nosuch" }]),
      patch([{ name: "Look_", image: "" }]),
      patch([
        {
          name: "look",
          image: "busybox:1",
          ports: [{ containerPort: 80 }],
          resources: { limits: { cpu: "1" } },
          restartPolicy: "Always",
          livenessProbe: { tcpSocket: { port: 80 } },
          lifecycle: { preStop: { exec: { command: ["true"] } } },
          volumeMounts: [{ name: "data", mountPath: "/data", subPath: "deep" }],
        },
      ]),
      patch([{ name: "look", image: "busybox:1", volumeMounts: [{ name: "nosuch", mountPath: "/data" }] }]),
      patch([looker]),
      patch([{ ...looker, image: "other" }]),
      patch([], "merge"),
      patch([{ name: "look", image: "busybox", nosuch: 1 }], "strategic", "?fieldValidation=Strict"),
      {
        method: "PATCH",
        path: `${pods}/p`,
        headers: { "content-type": types.strategic },
        body: { spec: { ephemeralContainers: [{ name: "other", image: "busybox" }] } },
      },
      get(`${pods}/p`),
    ],
  },
];
