import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestApi } from "../testing/test-api.test.support.ts";
import { claim, container, core, group, main, pod, rbac } from "./kinds.test.support.ts";

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
});
afterAll(() => api[Symbol.asyncDispose]());

// oxlint-disable-next-line typescript/no-explicit-any
const valueAt = (object: any, path: readonly string[]): unknown => path.reduce((value, key) => value?.[key], object);

describe("defaults", () => {
  const probe = { failureThreshold: 3, periodSeconds: 10, successThreshold: 1, timeoutSeconds: 1 };

  test.for([
    [
      "the times and host of a probe",
      core("pods"),
      main({ livenessProbe: { httpGet: { port: 80 } } }),
      ["spec", "containers", "0", "livenessProbe"],
      { ...probe, httpGet: { port: 80, path: "/", scheme: "HTTP" } },
    ],
    [
      "a gRPC probe's service",
      core("pods"),
      main({ startupProbe: { grpc: { port: 5 } } }),
      ["spec", "containers", "0", "startupProbe"],
      { ...probe, grpc: { port: 5, service: "" } },
    ],
    [
      "requests from limits, in their canonical form",
      core("pods"),
      main({ resources: { limits: { cpu: 0.5, memory: "1.5Gi" } } }),
      ["spec", "containers", "0", "resources"],
      { limits: { cpu: "500m", memory: "1536Mi" }, requests: { cpu: "500m", memory: "1536Mi" } },
    ],
    [
      "host ports on the host's network",
      core("pods"),
      pod({ hostNetwork: true, containers: [{ ...container, ports: [{ containerPort: 80 }] }] }),
      ["spec", "containers", "0", "ports"],
      [{ containerPort: 80, hostPort: 80, protocol: "TCP" }],
    ],
    [
      "a volume without a source",
      core("pods"),
      pod({ volumes: [{ name: "v" }] }),
      ["spec", "volumes"],
      [{ name: "v", emptyDir: {} }],
    ],
    [
      "the mode of files",
      core("pods"),
      pod({ volumes: [{ name: "v", secret: { secretName: "s" } }] }),
      ["spec", "volumes"],
      [{ name: "v", secret: { secretName: "s", defaultMode: 420 } }],
    ],
    [
      "a negative grace period",
      core("pods"),
      pod({ terminationGracePeriodSeconds: -1 }),
      ["spec", "terminationGracePeriodSeconds"],
      1,
    ],
    [
      "the fields of the downward API",
      core("pods"),
      main({ env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }] }),
      ["spec", "containers", "0", "env", "0", "valueFrom"],
      { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } },
    ],
    [
      "no empty lists and maps",
      core("pods"),
      main({ command: [], args: [] }),
      ["spec", "containers", "0", "command"],
      undefined,
    ],
    [
      "a claim's volume mode",
      core("persistentvolumeclaims"),
      { spec: claim },
      ["spec"],
      { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, volumeMode: "Filesystem" },
    ],
    [
      "a policy's types",
      group("networking.k8s.io", "networkpolicies"),
      { spec: { podSelector: {}, egress: [{ ports: [{ port: 53 }] }] } },
      ["spec"],
      { podSelector: {}, egress: [{ ports: [{ port: 53, protocol: "TCP" }] }], policyTypes: ["Ingress", "Egress"] },
    ],
    [
      "a subject's group",
      rbac("rolebindings"),
      { roleRef: { kind: "Role", name: "r" }, subjects: [{ kind: "User", name: "u" }] },
      ["subjects"],
      [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "u" }],
    ],
    [
      "a role's group",
      rbac("rolebindings"),
      { roleRef: { kind: "Role", name: "r" } },
      ["roleRef"],
      { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" },
    ],
    [
      "a slice's ports",
      group("discovery.k8s.io", "endpointslices"),
      { addressType: "IPv4", ports: [{ port: 80 }], endpoints: [{ addresses: ["1.2.3.4"] }] },
      ["ports"],
      [{ name: "", port: 80, protocol: "TCP" }],
    ],
    [
      "an event's empty times",
      core("events"),
      { involvedObject: { kind: "Pod", namespace: "default" } },
      ["firstTimestamp"],
      null,
    ],
    [
      "a headless Service without a selector",
      core("services"),
      { spec: { clusterIP: "None" } },
      ["spec", "ipFamilyPolicy"],
      "RequireDualStack",
    ],
    [
      "the timeout of session affinity",
      core("services"),
      { spec: { ports: [{ port: 80 }], sessionAffinity: "ClientIP" } },
      ["spec", "sessionAffinityConfig"],
      { clientIP: { timeoutSeconds: 10_800 } },
    ],
    [
      "the times of a Lease, in UTC with microseconds",
      group("coordination.k8s.io", "leases"),
      { spec: { renewTime: "2026-01-01T01:00:00.123457+01:00" } },
      ["spec"],
      { renewTime: "2026-01-01T00:00:00.123457Z" },
    ],
  ] as const)("set %s", async ([, path, body, field, expected]) => {
    const stored = await api.create(`${path}?dryRun=All`, { metadata: { name: "x" }, ...body });
    expect(valueAt(stored, field)).toEqual(expected);
  });

  test("allocate an address and node ports for a Service, which it keeps", async () => {
    const created = await api.create(core("services"), {
      metadata: { name: "outside" },
      spec: { type: "NodePort", ports: [{ port: 80 }] },
    });
    expect(created.spec).toMatchObject({
      clusterIP: expect.stringMatching(/^10\.96\./),
      clusterIPs: [created.spec?.["clusterIP"]],
      externalTrafficPolicy: "Cluster",
      ports: [{ port: 80, targetPort: 80, protocol: "TCP", nodePort: expect.any(Number) }],
    });
    const bare = { ...created, spec: { type: "NodePort", ports: (created.spec as { ports: unknown }).ports } };
    const { body } = await api.send("PUT", core("services/outside"), bare);
    expect(body.spec).toEqual(created.spec);
    const moved = await api.merge(core("services/outside"), {
      spec: { clusterIP: "10.96.0.9", clusterIPs: ["10.96.0.9"] },
    });
    expect(moved.body.message).toContain('spec.clusterIPs[0]: Invalid value: ["10.96.0.9"]: may not change once set');
  });

  test("give new objects an empty status", async () => {
    expect(await api.create("/api/v1/nodes", { metadata: { name: "bare" } })).toMatchObject({
      status: { daemonEndpoints: { kubeletEndpoint: { Port: 0 } } },
    });
  });

  test("keep the status of a new Node, but not of a new Pod", async () => {
    const status = { capacity: { cpu: "2" } };
    expect(await api.create("/api/v1/nodes", { metadata: { name: "full" }, status })).toMatchObject({
      status: { capacity: { cpu: "2" }, allocatable: { cpu: "2" } },
    });
    const created = await api.create(core("pods"), {
      metadata: { name: "claims-to-run" },
      ...pod({}),
      status: { phase: "Running" },
    });
    expect(created["status"]).toMatchObject({ phase: "Pending" });
  });
});
