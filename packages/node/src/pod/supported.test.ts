import type { Pod } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { kubeletBackoff } from "./backoff.ts";
import type { NodeRules } from "./observed.ts";
import { hasUserNamespace, unsupportedEphemeral, unsupportedField } from "./supported.ts";

type Fields = Record<string, unknown>;

/** Accepts any value, as a client may send any. */
function podOf(spec: Fields, container: Fields = {}, uid = "5f1c2d3e-0000-4000-8000-000000000001"): Pod {
  return {
    metadata: { name: "p", namespace: "n", uid },
    spec: { containers: [{ name: "main", image: "host", ...container }], ...spec },
  };
}

const rules: NodeRules = {
  runtimes: ["runc", "gvisor"],
  allowedRuntimes: ["runc", "gvisor"],
  defaultRuntime: "runc",
  ownUsers: ["gvisor"],
  ownKernels: ["gvisor"],
  canSave: ["gvisor"],
  allow: { privileged: false, hostPaths: [], hostUsers: false },
  backoff: kubeletBackoff,
};

const refusal = (pod: Pod, allow = rules.allow): string | undefined =>
  unsupportedField(pod, { ...rules, allow })?.message.replace('Cannot run Pod "n/p": ', "");

test.for([
  ["under a runtime with its own kernel", { hostUsers: false, runtimeClassName: "gvisor" }, undefined],
  [
    "under a runtime that shares the machine's kernel",
    { hostUsers: false },
    'spec.hostUsers: false is not supported by this node with runtime "runc"; supported with gvisor',
  ],
  ["with hostUsers: true", { hostUsers: true }, undefined],
] as const)("hostUsers: a Pod %s", ([, spec, expected]) => {
  expect(refusal(podOf(spec))).toBe(expected);
});

const withUsers: NodeRules = { ...rules, ownUsers: ["gvisor", "runc"] };
const privileged = { securityContext: { privileged: true } };

test.for([
  ["without hostUsers", {}, {}, true],
  ["with hostUsers: false", { hostUsers: false }, {}, true],
  ["with hostUsers: true", { hostUsers: true }, {}, false],
  ["with a privileged container", {}, privileged, false],
  ["with a privileged container and hostUsers: false", { hostUsers: false }, privileged, true],
  ["under a runtime with its own kernel", { runtimeClassName: "gvisor" }, {}, false],
] as const)("a user namespace for a Pod %s", ([, spec, container, expected]) => {
  const pod = podOf(spec, container);
  expect(hasUserNamespace(pod, pod.spec?.runtimeClassName ?? "runc", withUsers)).toBe(expected);
  expect(hasUserNamespace(pod, "runc", rules)).toBe(false);
});

test("hostUsers: true needs the operator's permission where user namespaces work", () => {
  const pod = podOf({ hostUsers: true });
  const refused = unsupportedField(pod, withUsers)?.message;
  expect(refused).toContain("spec.hostUsers: true is not allowed by this node's configuration");
  expect(unsupportedField(pod, { ...withUsers, allow: { ...rules.allow, hostUsers: true } })).toBeUndefined();
  expect(unsupportedField(podOf({ hostUsers: true, runtimeClassName: "gvisor" }), withUsers)).toBeUndefined();
  expect(unsupportedField(podOf({ hostUsers: false }), withUsers)).toBeUndefined();
});

describe("unsupportedField() accepts", () => {
  test.for([
    [
      "a Pod with the API server's defaults",
      {
        nodeName: "box",
        dnsPolicy: "ClusterFirst",
        enableServiceLinks: true,
        preemptionPolicy: "PreemptLowerPriority",
        priority: 0,
        restartPolicy: "Always",
        schedulerName: "default-scheduler",
        securityContext: {},
        serviceAccount: "default",
        serviceAccountName: "default",
        terminationGracePeriodSeconds: 30,
        tolerations: [{ key: "node.kubernetes.io/not-ready", operator: "Exists" }],
      },
      {
        imagePullPolicy: "IfNotPresent",
        terminationMessagePath: "/dev/termination-log",
        terminationMessagePolicy: "File",
        resources: {},
      },
    ],
    [
      "fields that are switched off",
      { hostNetwork: false, hostPID: false, shareProcessNamespace: false, initContainers: [], volumes: null },
      { tty: false, livenessProbe: null, securityContext: { privileged: false } },
    ],
    [
      "a user, limits and volumes",
      {
        automountServiceAccountToken: true,
        runtimeClassName: "runc",
        securityContext: { runAsUser: 1000, runAsNonRoot: true, supplementalGroups: [7] },
        volumes: [{ name: "scratch", emptyDir: {} }],
      },
      {
        env: [
          { name: "A", value: "1" },
          { name: "IP", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "status.podIP" } } },
        ],
        ports: [{ containerPort: 8080, name: "http", protocol: "TCP" }],
        resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "100m", memory: "0" } },
        securityContext: {
          capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] },
          seccompProfile: { type: "RuntimeDefault" },
        },
        volumeMounts: [{ name: "scratch", mountPath: "/work" }],
      },
    ],
  ] as const)("%s", ([, spec, container]) => {
    expect(refusal(podOf(spec, container))).toBeUndefined();
  });
});

describe("unsupportedField() refuses, and names the field", () => {
  test.for([
    ["spec.hostNetwork", { hostNetwork: true }],
    ["spec.hostPID", { hostPID: true }],
    ["spec.hostIPC", { hostIPC: "true" }],
    ["spec.hostUsers", { hostUsers: false }],
    ["spec.containers", { containers: [] }],
    ["spec.containers[1].name", { containers: [{ name: "a" }, { name: "a" }] }],
    ["spec.containers[0].name", { containers: [{ name: "a" }], initContainers: [{ name: "a" }] }],
    ["spec.initContainers[0].restartPolicy", { initContainers: [{ name: "i", restartPolicy: "Never" }] }],
    ["spec.initContainers[0].name", { initContainers: [{ name: "-holder" }] }],
    ["spec.resourceClaims", { resourceClaims: [{ name: "gpu" }] }],
    ["spec.containers[0]", { containers: ["main"] }],
    ["spec.containers[0].name", { containers: [{ image: "host" }] }],
    ["spec.runtimeClassName", { runtimeClassName: "kata" }],
    ["spec.securityContext.sysctls[0].name", { securityContext: { sysctls: [{ name: "kernel.msgmax", value: "1" }] } }],
    ["spec.volumes[0].hostPath", { volumes: [{ name: "h", hostPath: { path: "/" } }] }],
    ["spec.volumes[0].emptyDir.medium", { volumes: [{ name: "m", emptyDir: { medium: "HugePages" } }] }],
    ["spec.volumes[0].nfs", { volumes: [{ name: "n", nfs: { server: "s", path: "/" } }] }],
    ["spec.volumes[0]", { volumes: [{ name: "n" }] }],
    [
      "spec.volumes[0].secret.items[0].path",
      { volumes: [{ name: "s", secret: { secretName: "s", items: [{ key: "k", path: "../x" }] } }] },
    ],
    [
      "spec.volumes[0].configMap.items[0].path",
      { volumes: [{ name: "s", configMap: { name: "s", items: [{ key: "k", path: "..data" }] } }] },
    ],
    [
      "spec.volumes[0].configMap.defaultMode",
      { volumes: [{ name: "s", configMap: { name: "s", defaultMode: 0o4755 } }] },
    ],
    [
      "spec.volumes[0].projected.sources[0].clusterTrustBundle",
      { volumes: [{ name: "s", projected: { sources: [{ clusterTrustBundle: { path: "x" } }] } }] },
    ],
    ["spec.volumes[0].name", { volumes: [{ name: "../../etc", emptyDir: {} }] }],
    ["spec.dnsConfig.nameservers[0]", { dnsConfig: { nameservers: ["1.1.1.1\noptions evil"] } }],
    ["spec.hostAliases[0].hostnames[0]", { hostAliases: [{ ip: "1.2.3.4", hostnames: ["a\n1.1.1.1 b"] }] }],
    ["spec.hostname", { hostname: "a/../b" }],
    ["spec.restartPolicy", { restartPolicy: "Sometimes" }],
    ["spec.terminationGracePeriodSeconds", { terminationGracePeriodSeconds: -1 }],
    ["spec.fieldOfTomorrow", { fieldOfTomorrow: 1 }],
    ["spec.constructor", { constructor: "x" }],
  ] as const)("%s", ([path, spec]) => {
    expect(refusal(podOf(spec as Fields))?.startsWith(`${path}: `)).toBe(true);
  });

  test.for([
    ["name", { name: "../../../../etc" }],
    ["name", { name: "a_b" }],
    ["command[0]", { command: [5] }],
    ["args[1]", { args: ["a", "b\0c"] }],
    ["workingDir", { workingDir: "relative" }],
    ["env[0].name", { env: [{ name: "A=B", value: "x" }] }],
    [
      "env[0].valueFrom.fieldRef.fieldPath",
      { env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "status.phase" } } }] },
    ],
    ["ports[0].hostPort", { ports: [{ containerPort: 80, hostPort: 80 }] }],
    ["resources.limits.memory", { resources: { limits: { memory: "lots" } } }],
    ["resources.limits.cpu", { resources: { limits: { cpu: "0" } } }],
    ["resources.limits.nvidia.com/gpu", { resources: { limits: { "nvidia.com/gpu": "1" } } }],
    ["securityContext.privileged", { securityContext: { privileged: true } }],
    ["securityContext.capabilities.add[0]", { securityContext: { capabilities: { add: ["SYS_ADMIN"] } } }],
    ["securityContext.capabilities.add[0]", { securityContext: { capabilities: { add: ["ALL"] } } }],
    ["securityContext.seccompProfile.type", { securityContext: { seccompProfile: { type: "Unconfined" } } }],
    ["securityContext.procMount", { securityContext: { procMount: "Unmasked" } }],
    ["securityContext.appArmorProfile", { securityContext: { appArmorProfile: { type: "Unconfined" } } }],
    ["securityContext.runAsUser", { securityContext: { runAsUser: -1 } }],
    ["securityContext.runAsUser", { securityContext: { runAsUser: 0, runAsNonRoot: true } }],
    ["livenessProbe.exec.command[0]", { livenessProbe: { exec: { command: [1] } } }],
    [
      "livenessProbe.httpGet.httpHeaders[0].value",
      { livenessProbe: { httpGet: { port: 1, httpHeaders: [{ name: "a", value: "b\r\nc: d" }] } } },
    ],
    ["readinessProbe.tcpSocket.port", { readinessProbe: { tcpSocket: { port: 70_000 } } }],
    ["startupProbe.periodSeconds", { startupProbe: { periodSeconds: -1 } }],
    ["lifecycle.stopSignal", { lifecycle: { stopSignal: "USR1; x" } }],
    ...["/proc/self/x", "/", "/dev", "/dev/", "/dev/null", "//dev//ptmx", "/dev/fd/1", "/sys/x", "/a/../proc/x"].map(
      (path) => ["terminationMessagePath", { terminationMessagePath: path }] as const,
    ),
    [
      "volumeMounts[0].mountPropagation",
      { volumeMounts: [{ name: "missing", mountPath: "/x", mountPropagation: "Bidirectional" }] },
    ],
    ["restartPolicy", { restartPolicy: "Always" }],
    ["tty", { tty: "yes" }],
    ["volumeDevices", { volumeDevices: [{ name: "d", devicePath: "/dev/sda" }] }],
    ["volumeMounts[0].name", { volumeMounts: [{ name: "missing", mountPath: "/x" }] }],
    ["volumeMounts[0].subPath", { volumeMounts: [{ name: "missing", mountPath: "/x", subPath: "../.." }] }],
    ...[
      "/",
      "//",
      "/proc",
      "/proc/sys",
      "//dev",
      "/sys/fs/cgroup",
      "relative",
      "/a/../proc",
      "/a:b",
      "/dev/null",
      "/dev/shmx",
      "/dev/shm/../null",
    ].map((mountPath) => ["volumeMounts[0].mountPath", { volumeMounts: [{ name: "missing", mountPath }] }] as const),
  ] as const)("spec.containers[0].%s", ([path, container]) => {
    expect(refusal(podOf({}, container as Fields))?.startsWith(`spec.containers[0].${path}: `)).toBe(true);
  });

  test("privileged containers and hostPath unless the operator allows them", () => {
    const privileged = podOf({}, { securityContext: { privileged: true } });
    const mounting = podOf({ volumes: [{ name: "h", hostPath: { path: "/data/x" } }] });
    expect([privileged, mounting].map((pod) => refusal(pod))).toEqual([
      "spec.containers[0].securityContext.privileged: is not allowed by this node's configuration",
      "spec.volumes[0].hostPath: is not allowed by this node's configuration (allow.hostPaths)",
    ]);
    const allow = { privileged: true, hostPaths: ["/data"], hostUsers: false };
    expect([privileged, mounting].map((pod) => refusal(pod, allow))).toEqual([undefined, undefined]);
  });

  test("an ephemeral container without refusing its Pod", () => {
    const pod = podOf({ ephemeralContainers: [{ name: "look", image: "host", tty: "yes" }] });
    expect(refusal(pod)).toBeUndefined();
    expect(unsupportedEphemeral(pod, "look", rules)).toContain("spec.ephemeralContainers[0].tty: ");
  });

  test("SYS_PTRACE, unless the sandbox has its own kernel", () => {
    const asking = (runtimeClassName: string) =>
      podOf({ runtimeClassName }, { securityContext: { capabilities: { add: ["SYS_PTRACE"] } } });
    expect(refusal(asking("gvisor"))).toBeUndefined();
    expect(refusal(asking("runc"))).toContain('securityContext.capabilities.add[0]: "SYS_PTRACE" is not a capability');
    const looking = { name: "look", image: "host", securityContext: { capabilities: { add: ["SYS_PTRACE"] } } };
    const pod = podOf({ runtimeClassName: "runc", ephemeralContainers: [looking] });
    expect(unsupportedEphemeral(pod, "look", rules)).toBeUndefined();
  });

  test.for(["", "../../etc", "a/b", "-x", "a".repeat(65), "a b"])("metadata.uid %j", (uid) => {
    expect(refusal(podOf({}, {}, uid))).toBe("metadata.uid: is not a UID");
  });
});
