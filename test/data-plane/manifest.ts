import { readFileSync } from "node:fs";

const workload = readFileSync(`${import.meta.dirname}/workload.py`, "utf8");

export interface Wanted {
  readonly name: string;
  readonly runtime: "runc" | "gvisor";
  /** Added to the spec. */
  readonly spec?: object;
  /** Added to the container. */
  readonly env?: readonly object[];
  readonly securityContext?: object;
}

/** A Sandbox with the injected runtime and a server on port 8000, as JSON, which is valid YAML. */
export function manifest({ name, runtime, spec = {}, env = [], securityContext }: Wanted): string {
  const container = {
    name: "main",
    image: "host",
    command: ["python3", "-c", workload],
    env: [
      { name: "SANDBOX_COLOUR", value: "green" },
      { name: "SANDBOX_API_KEY", value: "hidden" },
      { name: "COLOUR", value: "red" },
      { name: "POD_UID", valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } },
      ...env,
    ],
    ...(securityContext && { securityContext }),
    readinessProbe: { tcpSocket: { port: 8000 }, periodSeconds: 1 },
  };
  return JSON.stringify({
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name },
    spec: {
      runtime: "Injected",
      // Activity is only recorded with an idle policy. The tests take less than an hour.
      idlePolicy: { suspendAfterSeconds: 3600 },
      ...spec,
      podTemplate: { spec: { runtimeClassName: runtime, terminationGracePeriodSeconds: 3, containers: [container] } },
    },
  });
}

const extensions = "extensions.agents.x-k8s.io/v1beta1";

/** A pool of servers and a claim for one of them. */
export const poolManifest: string = [
  {
    apiVersion: extensions,
    kind: "SandboxTemplate",
    metadata: { name: "plain" },
    spec: {
      runtime: "Injected",
      podTemplate: {
        spec: {
          runtimeClassName: "runc",
          terminationGracePeriodSeconds: 1,
          containers: [
            {
              name: "main",
              image: "host",
              command: ["python3", "-c", workload],
              readinessProbe: { tcpSocket: { port: 8000 }, periodSeconds: 1 },
            },
          ],
        },
      },
    },
  },
  {
    apiVersion: extensions,
    kind: "SandboxWarmPool",
    metadata: { name: "warm" },
    spec: { replicas: 1, sandboxTemplateRef: { name: "plain" } },
  },
  { apiVersion: extensions, kind: "SandboxClaim", metadata: { name: "mine" }, spec: { warmPoolRef: { name: "warm" } } },
]
  .map((object) => JSON.stringify(object))
  .join("\n---\n");
