/** Sandboxes as the controllers write them, in the states that a busy box has: six of ten run, three sleep, one starts or has failed. */

export const states = ["running", "sleeping", "starting", "failed"] as const;
export type State = (typeof states)[number];

export function stateAt(index: number): State {
  return index % 10 < 6 ? "running" : index % 10 < 9 ? "sleeping" : index % 20 === 9 ? "starting" : "failed";
}

export const namespaces: readonly string[] = ["default", "team-a", "team-b", "evaluation"];

export interface Place {
  readonly namespace: string;
  readonly name: string;
}

export function placeOf(index: number): Place {
  return {
    namespace: namespaces[index % namespaces.length] as string,
    name: `agent-${index.toString(36).padStart(5, "0")}`,
  };
}

const templates = ["python", "node", "browser", "coding-agent"];

export function sandbox(index: number): object {
  const { namespace, name } = placeOf(index);
  const template = templates[index % templates.length] as string;
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: {
      name,
      namespace,
      labels: { app: "agent", template, "agents.x-k8s.io/sandbox-template-ref-hash": "6d4b75cb6d" },
      annotations: {
        "agents.x-k8s.io/sandbox-template-ref": template,
        "agents.x-k8s.io/pod-name": name,
        "agents.x-k8s.io/last-activity": new Date().toISOString(),
      },
    },
    spec: {
      runtime: "Injected",
      idlePolicy: { suspendAfterSeconds: 600 },
      operatingMode: stateAt(index) === "sleeping" ? "Suspended" : "Running",
      podTemplate: {
        metadata: { labels: { app: "agent", template } },
        spec: {
          automountServiceAccountToken: false,
          runtimeClassName: "gvisor",
          containers: [
            {
              name: "main",
              image: `registry.example.com/agents/${template}:1.${index % 10}`,
              env: [{ name: "WORKSPACE", value: "/workspace" }],
              resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "0", memory: "0" } },
            },
          ],
        },
      },
    },
  };
}

interface Condition {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

const conditionsOf: Readonly<Record<State, readonly Condition[]>> = {
  running: [
    { type: "Ready", status: "True", reason: "DependenciesReady", message: "Pod is Ready; Service Exists" },
    { type: "Suspended", status: "False", reason: "NotSuspended", message: "" },
  ],
  sleeping: [
    { type: "Ready", status: "False", reason: "SandboxSuspended", message: "The Sandbox is suspended" },
    { type: "Suspended", status: "True", reason: "PodTerminated", message: "The Sandbox is suspended" },
  ],
  starting: [
    { type: "Ready", status: "False", reason: "DependenciesNotReady", message: "Pod exists with phase: Pending" },
    { type: "Suspended", status: "False", reason: "NotSuspended", message: "" },
  ],
  failed: [
    { type: "Ready", status: "False", reason: "PodFailed", message: 'Container "main" ended with exit code 3' },
    { type: "Finished", status: "True", reason: "PodFailed", message: "" },
  ],
};

export function statusOf(state: State): object {
  const lastTransitionTime = `${new Date().toISOString().slice(0, 19)}Z`;
  return {
    conditions: conditionsOf[state].map((condition) => ({ ...condition, observedGeneration: 1, lastTransitionTime })),
    nodeName: "box",
    selector: "agents.x-k8s.io/sandbox-name-hash=6d4b75cb",
    ...(state === "running" && { podIPs: ["10.88.0.7"] }),
  };
}

/** The Pod of a Sandbox that runs, so that it has figures in metrics.k8s.io. */
export function pod(index: number): object {
  const { namespace, name } = placeOf(index);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels: { app: "agent" } },
    spec: { containers: [{ name: "main", image: "registry.example.com/agents/python:1.0" }] },
  };
}

export function event(index: number, object: number): object {
  const { namespace, name } = placeOf(object);
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${name}.${index.toString(16)}`, namespace },
    involvedObject: { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", namespace, name },
    type: index % 8 === 0 ? "Warning" : "Normal",
    reason: index % 8 === 0 ? "Unhealthy" : "SandboxResumed",
    message: "Resumed after a request: the memory of the sandbox was restored in 214 ms",
    source: { component: "sandbox-controller" },
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
  };
}
