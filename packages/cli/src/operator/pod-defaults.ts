/** The user of our images. */
const user = 65532;

/** Satisfies the Pod Security Standard "restricted". */
export const podSecurity: object = {
  runAsNonRoot: true,
  runAsUser: user,
  runAsGroup: user,
  fsGroup: user,
  seccompProfile: { type: "RuntimeDefault" },
};

export const containerSecurity: object = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
};

/** Time for the Service's endpoints to be updated everywhere before connections are refused. */
export const lifecycle: object = { preStop: { sleep: { seconds: 5 } } };

/** Replicas on different nodes, where there are any. */
export function spreadOf(app: string): object[] {
  return [
    {
      maxSkew: 1,
      topologyKey: "kubernetes.io/hostname",
      whenUnsatisfiable: "ScheduleAnyway",
      labelSelector: { matchLabels: { app } },
    },
  ];
}

/** `/readyz` fails until the program serves, and `/healthz` when it must be restarted. */
export function probesOf(port: string): object {
  return {
    startupProbe: { httpGet: { path: "/readyz", port }, periodSeconds: 1, failureThreshold: 90 },
    readinessProbe: { httpGet: { path: "/readyz", port }, periodSeconds: 5 },
    livenessProbe: { httpGet: { path: "/healthz", port }, periodSeconds: 20, timeoutSeconds: 5 },
  };
}

/** Only these ports accept connections. Egress is open: the addresses of API servers and Pods are not known here. */
export function ingressOnly(app: string, ports: readonly number[]): object {
  return {
    podSelector: { matchLabels: { app } },
    policyTypes: ["Ingress"],
    ingress: [{ ports: ports.map((port) => ({ protocol: "TCP", port })) }],
  };
}
