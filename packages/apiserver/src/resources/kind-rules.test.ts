import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestApi } from "../testing/test-api.test.support.ts";
import { claim, container, core, group, main, pod, rbac } from "./kinds.test.support.ts";

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
});
afterAll(() => api[Symbol.asyncDispose]());

describe("rules", () => {
  const services = core("services");
  const pods = core("pods");

  test.for([
    [
      pods,
      main({ volumeMounts: [{ name: "nope", mountPath: "/x" }] }),
      'spec.containers[0].volumeMounts[0].name: Not found: "nope"',
    ],
    [
      pods,
      main({ ports: [{ containerPort: 70_000 }] }),
      "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
    ],
    [
      pods,
      main({ env: [{ name: "a=b" }] }),
      "a valid environment variable name must consist only of printable ASCII characters other than '='",
    ],
    [
      pods,
      main({ resources: { limits: { cpu: "1" }, requests: { cpu: "2" } } }),
      'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
    ],
    [
      pods,
      main({ livenessProbe: {} }),
      "spec.containers[0].livenessProbe: Required value: must specify a handler type",
    ],
    [
      pods,
      main({ livenessProbe: { exec: { command: ["a"] }, successThreshold: 2 } }),
      "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
    ],
    [
      pods,
      main({ securityContext: { runAsUser: -1 } }),
      "spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
    ],
    [
      pods,
      pod({ volumes: [{ name: "v", emptyDir: {}, hostPath: { path: "/" } }] }),
      "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type",
    ],
    [
      pods,
      pod({ tolerations: [{ operator: "Foo" }] }),
      'spec.tolerations[0].operator: Unsupported value: "Foo": supported values: "Equal", "Exists"',
    ],
    [pods, pod({ initContainers: [container] }), 'spec.initContainers[0].name: Duplicate value: "a"'],
    [
      pods,
      pod({ hostname: "Bad_Host" }),
      'spec.hostname: Invalid value: "Bad_Host": a lowercase RFC 1123 label must consist of',
    ],
    [services, { spec: {} }, "spec.ports: Required value"],
    [services, { spec: { ports: [{ port: 80 }, { port: 81 }] } }, "spec.ports[0].name: Required value"],
    [
      services,
      { spec: { ports: [{ port: 80, nodePort: 30_001 }] } },
      "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
    ],
    [services, { spec: { type: "ExternalName" } }, "spec.externalName: Required value"],
    [
      services,
      { spec: { clusterIP: "nowhere", ports: [{ port: 80 }] } },
      'spec.clusterIPs[0]: Invalid value: "nowhere": must be a valid IP address',
    ],
    [
      core("persistentvolumeclaims"),
      { spec: {} },
      "spec.accessModes: Required value: at least 1 access mode is required",
    ],
    [
      core("persistentvolumeclaims"),
      { spec: { ...claim, resources: { requests: { storage: "0" } } } },
      'spec.resources[storage]: Invalid value: "0": must be greater than zero',
    ],
    [core("secrets"), { type: "kubernetes.io/tls" }, "data[tls.crt]: Required value"],
    [
      core("secrets"),
      { data: { "bad key": "YQ==" } },
      'data[bad key]: Invalid value: "bad key": a valid config key must consist of',
    ],
    [core("configmaps"), { data: { "..x": "" } }, "data[..x]: Invalid value: \"..x\": must not start with '..'"],
    [
      core("configmaps"),
      { data: { a: "" }, binaryData: { a: "YQ==" } },
      'data[a]: Invalid value: "a": duplicate of key present in binaryData',
    ],
    [
      group("networking.k8s.io", "networkpolicies"),
      { spec: { ingress: [{ from: [{}] }] } },
      "spec.ingress[0].from[0]: Required value: must specify a peer",
    ],
    [
      rbac("roles"),
      { rules: [{ apiGroups: [""] }] },
      "rules[0].verbs: Required value: verbs must contain at least one value",
    ],
    [
      rbac("roles"),
      { rules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }] },
      "namespaced rules cannot apply to non-resource URLs",
    ],
    [
      rbac("rolebindings"),
      { roleRef: { kind: "X", name: "y" } },
      'roleRef.kind: Unsupported value: "X": supported values: "Role", "ClusterRole"',
    ],
    [group("discovery.k8s.io", "endpointslices"), {}, "addressType: Required value"],
    [
      "/apis/node.k8s.io/v1/runtimeclasses",
      { handler: "Bad_" },
      'handler: Invalid value: "Bad_": a lowercase RFC 1123 label',
    ],
    [
      "/api/v1/persistentvolumes",
      { spec: { accessModes: ["ReadWriteOnce"] } },
      "spec: Required value: must specify a volume type",
    ],
  ] as const)("of %s refuse %j", async ([path, body, message]) => {
    const answer = await api.send("POST", path, { metadata: { name: "wrong" }, ...body });
    expect(answer.status).toBe(422);
    expect(answer.body.message).toContain(message);
  });

  test.for([
    [
      core("secrets"),
      { immutable: true, data: { a: "YQ==" } },
      { data: { a: "Yg==" } },
      "data: Forbidden: field is immutable when `immutable` is set",
    ],
    [core("secrets"), {}, { type: "x" }, 'type: Invalid value: "x": field is immutable'],
    [
      core("configmaps"),
      { immutable: true },
      { data: { a: "b" } },
      "data: Forbidden: field is immutable when `immutable` is set",
    ],
    [
      pods,
      pod({}),
      { spec: { restartPolicy: "Never" } },
      "spec: Forbidden: pod updates may not change fields other than",
    ],
    [
      pods,
      pod({}),
      { spec: { containers: [container, { ...container, name: "b" }] } },
      "spec.containers: Forbidden: pod updates may not add or remove containers",
    ],
    [
      pods,
      pod({ activeDeadlineSeconds: 60 }),
      { spec: { activeDeadlineSeconds: 90 } },
      "must be less than or equal to previous value",
    ],
    [
      core("persistentvolumeclaims"),
      { spec: claim },
      { spec: { accessModes: ["ReadWriteMany"] } },
      "spec: Forbidden: spec is immutable after creation",
    ],
    [
      rbac("rolebindings"),
      { roleRef: { kind: "Role", name: "r" } },
      { roleRef: { name: "s" } },
      "cannot change roleRef",
    ],
    [
      "/apis/scheduling.k8s.io/v1/priorityclasses",
      { value: 1 },
      { value: 2 },
      "value: Forbidden: may not be changed in an update.",
    ],
    [
      "/apis/storage.k8s.io/v1/storageclasses",
      { provisioner: "a.io/b" },
      { provisioner: "c.io/d" },
      'provisioner: Invalid value: "c.io/d": field is immutable',
    ],
  ] as const)("of %s refuse the change of %j to %j", async ([path, body, change, message]) => {
    const { metadata } = await api.create(path, { metadata: { generateName: "kept-" }, ...body });
    const answer = await api.merge(`${path}/${metadata.name}`, change);
    expect(answer.status).toBe(422);
    expect(answer.body.message).toContain(message);
  });

  test("allow a Pod to change its image and a bound volume claim to grow", async () => {
    await api.create(pods, { metadata: { name: "upgraded" }, ...pod({}) });
    expect(
      (await api.merge(`${pods}/upgraded`, { spec: { containers: [{ ...container, image: "busybox:2" }] } })).status,
    ).toBe(200);
    const claims = core("persistentvolumeclaims");
    await api.create(claims, { metadata: { name: "grown" }, spec: claim });
    await api.merge(`${claims}/grown/status`, { status: { phase: "Bound" } });
    const grown = { spec: { resources: { requests: { storage: "2Gi" } } } };
    expect((await api.merge(`${claims}/grown`, grown)).status).toBe(200);
  });

  test("allow duplicate variables and ports, like Kubernetes", async () => {
    const twice = main({
      env: [
        { name: "A", value: "1" },
        { name: "A", value: "2" },
      ],
    });
    expect((await api.send("POST", `${pods}?dryRun=All`, { metadata: { name: "twice" }, ...twice })).status).toBe(201);
  });
});

test("every namespace has a default ServiceAccount, which is created again after a deletion", async () => {
  const accounts = "/api/v1/namespaces/crew/serviceaccounts";
  const watching = await api.watch(
    `/api/v1/serviceaccounts?watch=true&resourceVersion=${(await api.get("/api/v1/namespaces/default")).metadata.resourceVersion}&fieldSelector=metadata.namespace=crew`,
  );
  await api.create("/api/v1/namespaces", { metadata: { name: "crew" } });
  expect(await watching.seen(1)).toEqual(["ADDED default"]);
  await api.send("DELETE", `${accounts}/default`);
  expect(await watching.seen(2)).toEqual(["DELETED default", "ADDED default"]);
  watching.stop();
});
