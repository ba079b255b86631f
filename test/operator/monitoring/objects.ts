import { stringify } from "yaml";

const extensions = "extensions.agents.x-k8s.io/v1beta1";

/** Serves one page on port 8000. */
const server = {
  name: "main",
  image: "host",
  command: ["sh", "-c", "cd /data && echo page > page && exec python3 -m http.server 8000"],
  volumeMounts: [{ name: "data", mountPath: "/data" }],
  readinessProbe: { tcpSocket: { port: 8000 }, periodSeconds: 1 },
};
const data = {
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};

const web = (name: string, spec: object): object => ({
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name },
  spec: { ...spec, volumeClaimTemplates: [data], podTemplate: { spec: { containers: [server] } } },
});

/** What makes every panel show something: a pool, a sandbox with a volume, and one that is suspended when it is idle. */
export const worldObjects = [
  {
    apiVersion: extensions,
    kind: "SandboxTemplate",
    metadata: { name: "plain" },
    spec: {
      podTemplate: { spec: { containers: [{ name: "main", image: "host", command: ["sleep", "infinity"] }] } },
    },
  },
  {
    apiVersion: extensions,
    kind: "SandboxWarmPool",
    metadata: { name: "warm" },
    spec: { replicas: 1, sandboxTemplateRef: { name: "plain" } },
  },
  web("web", {}),
  web("drowsy", { idlePolicy: { suspendAfterSeconds: 10 } }),
]
  .map((object) => stringify(object))
  .join("---\n");

export const claim = (name: string): string =>
  stringify({
    apiVersion: extensions,
    kind: "SandboxClaim",
    metadata: { name },
    spec: { warmPoolRef: { name: "warm" } },
  });
