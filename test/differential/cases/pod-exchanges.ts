import type { Case, ExchangeStep } from "../case.ts";
import { asTable, get, merge, post } from "./exchange-steps.ts";

const pods = "/api/v1/namespaces/{{ns}}/pods";
const createPod = (metadata: object, spec: object): ExchangeStep =>
  post(pods, { apiVersion: "v1", kind: "Pod", metadata, spec });

const bindingTo = (target: object): ExchangeStep =>
  post(`${pods}/p/binding`, {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name: "p" },
    target,
  });

/** Features that only Pods have. */
export const podExchanges: readonly Case[] = [
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
        createPod(
          { name: `mounts-${automountServiceAccountToken}` },
          {
            automountServiceAccountToken,
            serviceAccountName: "robot",
            containers: [{ name: "main", image: "busybox:1" }],
          },
        ),
      ),
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
        createPod(
          { name: `p${at}` },
          {
            ...more,
            runtimeClassName: "{{ns}}",
            automountServiceAccountToken: false,
            containers: [{ name: "main", image: "busybox:1" }],
          },
        ),
      ),
    ],
  },
  {
    name: "a pod that waits for a word",
    steps: [
      createPod(
        { name: "p" },
        {
          automountServiceAccountToken: false,
          schedulingGates: [{ name: "example.com/quota" }],
          tolerations: [{ key: "a", operator: "Exists", effect: "NoExecute" }],
          containers: [{ name: "main", image: "busybox:1" }],
        },
      ),
      get(`${pods}/p`, asTable),
      ...[
        { schedulingGates: [{ name: "example.com/other" }] },
        { tolerations: [{ key: "b", operator: "Exists", effect: "NoExecute" }] },
        { tolerations: [{ key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 }] },
        { schedulingGates: [] },
      ].map((spec) => merge(`${pods}/p`, { spec })),
      get(`${pods}/p`, asTable),
    ],
  },
  {
    name: "bindings",
    steps: [
      createPod(
        { name: "p" },
        { automountServiceAccountToken: false, containers: [{ name: "main", image: "busybox:1" }] },
      ),
      bindingTo({ kind: "Pod", name: "x" }),
      bindingTo({}),
      bindingTo({ kind: "Node", name: "box" }),
      bindingTo({ kind: "Node", name: "box" }),
      get(`${pods}/p`),
    ],
  },
  {
    name: "a pod with nothing in its fields",
    steps: [
      createPod(
        { name: "empty", labels: {}, annotations: {}, finalizers: [] },
        {
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
      ),
    ],
  },
  {
    name: "logs of containers",
    steps: [
      createPod(
        { name: "p" },
        {
          automountServiceAccountToken: false,
          initContainers: [{ name: "first", image: "busybox:1" }],
          containers: ["a", "b"].map((name) => ({ name, image: "busybox:1" })),
        },
      ),
      get(`${pods}/p/log`),
      get(`${pods}/p/log?container=a`),
      get(`${pods}/p/log?container=first`),
      get(`${pods}/p/log?container=nosuch`),
    ],
  },
  {
    name: "streams without a node",
    steps: [
      get(`${pods}/nosuch/log`),
      post(`${pods}/nosuch/exec?command=true&stdout=true`, {}),
      post(`${pods}/nosuch/eviction`, {
        apiVersion: "policy/v1",
        kind: "Eviction",
        metadata: { name: "nosuch" },
      }),
      post(`${pods}/nosuch/binding`, {
        apiVersion: "v1",
        kind: "Binding",
        metadata: { name: "nosuch" },
        target: { kind: "Node", name: "box" },
      }),
    ],
  },
];
