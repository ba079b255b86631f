import type { Random } from "../../../packages/apiserver/test/fuzz/random.ts";
import type { Runtime } from "../tenant.ts";
import type { ServedKind } from "./served-kinds.ts";

/** How often a kind is chosen. Kinds that change something on the machine are chosen more often. */
export const weights: Readonly<Record<string, number>> = {
  pods: 10,
  sandboxes: 8,
  services: 6,
  networkpolicies: 6,
  endpointslices: 3,
  endpoints: 3,
  persistentvolumeclaims: 4,
  sandboxclaims: 3,
  sandboxwarmpools: 3,
  sandboxtemplates: 3,
  sandboxsnapshots: 3,
  serviceaccounts: 2,
  secrets: 2,
  configmaps: 2,
};

/** Only a few names, so that the attacker's objects refer to each other. */
export const ownNames = ["m0", "m1", "m2", "m3", "web", "friend", "ledger"];

function podSpec(random: Random, runtimes: readonly Runtime[]): object {
  const volumes = [
    { name: "scratch", emptyDir: {} },
    { name: "kept", persistentVolumeClaim: { claimName: random.pick(ownNames) } },
    { name: "settings", configMap: { name: random.pick(ownNames), optional: true } },
    { name: "token", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } },
  ].filter(({ name }) => random.chance(name === "kept" ? 0.3 : 0.5));
  return {
    ...(random.chance(0.8) && { runtimeClassName: random.pick(runtimes) }),
    terminationGracePeriodSeconds: 1,
    restartPolicy: random.pick(["Always", "Always", "Never"]),
    volumes,
    containers: [
      {
        name: "main",
        image: "host",
        command: ["sh", "-c", random.pick(commands)],
        ports: [{ containerPort: 8000 }],
        volumeMounts: volumes.map(({ name }) => ({ name, mountPath: `/${name}` })),
        ...(random.chance(0.3) && { readinessProbe: { httpGet: { port: 8000, path: "/" }, periodSeconds: 1 } }),
        ...(random.chance(0.2) && { resources: { limits: { memory: "100Mi", cpu: "200m" } } }),
      },
    ],
  };
}

/** The commands of the attacker's Pods. Other code is run with exec. */
const commands = [
  "exec sleep infinity",
  "exec sleep infinity",
  "exec python3 -m http.server 8000",
  "mv /scratch /scratch2 2>/dev/null; ln -sfn / /scratch; ln -sfn / /x; ln -sfn /proc /kept/p; sleep 1; exit 1",
  "rm -f /dev/termination-log; mkfifo /dev/termination-log; sleep 2; exit 1",
  "exit 3",
];

/** A valid object of the kind, without metadata. For kinds that are not listed it is empty. */
export function baseObject(
  random: Random,
  { plural, apiVersion, kind }: ServedKind,
  runtimes: readonly Runtime[],
): Record<string, unknown> {
  const name = random.pick(ownNames);
  const contents: Readonly<Record<string, () => object>> = {
    pods: () => ({ spec: podSpec(random, runtimes) }),
    sandboxes: () => ({
      spec: { podTemplate: { spec: podSpec(random, runtimes) }, ...(random.chance(0.4) && { service: true }) },
    }),
    sandboxtemplates: () => ({ spec: { podTemplate: { spec: podSpec(random, runtimes) } } }),
    sandboxwarmpools: () => ({ spec: { replicas: 1, sandboxTemplateRef: { name } } }),
    sandboxclaims: () => ({ spec: { warmPoolRef: { name } } }),
    sandboxsnapshots: () => ({ spec: { sandboxRef: { name } } }),
    services: () => ({ spec: { selector: { role: "web" }, ports: [{ port: 80, targetPort: 8000 }] } }),
    endpoints: () => ({ subsets: [{ addresses: [{ ip: "192.0.2.9" }], ports: [{ port: 80 }] }] }),
    endpointslices: () => ({
      addressType: "IPv4",
      endpoints: [{ addresses: ["192.0.2.9"] }],
      ports: [{ port: 80, name: "http" }],
    }),
    networkpolicies: () => ({
      spec: {
        podSelector: {},
        policyTypes: ["Ingress", "Egress"],
        ingress: [
          {
            from: [{ ipBlock: { cidr: "192.0.2.0/24", except: ["192.0.2.8/29"] } }],
            ports: [{ port: 80, endPort: 90 }],
          },
        ],
        egress: [{ to: [{ podSelector: {} }, { namespaceSelector: { matchLabels: { a: "b" } } }] }],
      },
    }),
    persistentvolumeclaims: () => ({
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "10Mi" } } },
    }),
    persistentvolumes: () => ({
      spec: { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Mi" }, hostPath: { path: "/tmp" } },
    }),
    configmaps: () => ({ data: { key: "value" } }),
    secrets: () => ({
      stringData: { key: "value" },
      type: random.pick(["Opaque", "kubernetes.io/service-account-token"]),
    }),
    events: () => ({ involvedObject: { kind: "Pod", name, namespace: "alice" }, reason: "R", type: "Normal" }),
    leases: () => ({ spec: { holderIdentity: "m", leaseDurationSeconds: 5 } }),
    roles: () => ({ rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }] }),
    rolebindings: () => ({
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", name: "default" }],
    }),
  };
  return { apiVersion, kind, ...contents[plural]?.() };
}
