/** A Pod as our controller sends it, about 1 KB of JSON, but without an owner reference, because the owner would have to exist. */
export function pod(namespace: string, name: string): object {
  const hash = "6d4b75cb6d";
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      labels: { app: "sandbox", "agents.x-k8s.io/sandbox-name-hash": hash, "agents.x-k8s.io/warm-pool": "pool" },
      annotations: { "agents.x-k8s.io/propagated-labels": "app" },
    },
    spec: {
      automountServiceAccountToken: false,
      restartPolicy: "Always",
      containers: [
        {
          name: "agent",
          image: "registry.example.com/agents/python:3.13",
          command: ["python", "-m", "agent", "--listen=:8080"],
          ports: [{ name: "http", containerPort: 8080 }],
          env: [
            { name: "WORKSPACE", value: "/workspace" },
            { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
          ],
          resources: { requests: { cpu: "250m", memory: "256Mi" }, limits: { memory: "1Gi" } },
          volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
          readinessProbe: { httpGet: { path: "/healthz", port: 8080 }, periodSeconds: 5 },
        },
      ],
      volumes: [{ name: "tmp", emptyDir: { sizeLimit: "1Gi" } }],
    },
  };
}
