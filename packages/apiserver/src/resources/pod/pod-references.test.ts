import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pod, pods, TestApi } from "../../testing/test-api.test.support.ts";

const accounts = "/api/v1/namespaces/default/serviceaccounts";
const classes = "/apis/node.k8s.io/v1/runtimeclasses";

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
  await api.create(accounts, { metadata: { name: "puller" }, imagePullSecrets: [{ name: "registry" }] });
  await api.create(classes, {
    metadata: { name: "heavy" },
    handler: "vm",
    overhead: { podFixed: { memory: "64Mi" } },
    scheduling: { nodeSelector: { vm: "yes" }, tolerations: [{ key: "vm", operator: "Exists" }] },
  });
});
afterAll(() => api[Symbol.asyncDispose]());

const withSpec = (name: string, more: object): object => {
  const whole = pod(name) as { spec: object };
  return { ...whole, spec: { ...whole.spec, ...more } };
};

describe("a new Pod", () => {
  test("gets the default ServiceAccount of its namespace", async () => {
    expect((await api.create(pods, pod("plain"))).spec).toMatchObject({
      serviceAccountName: "default",
      serviceAccount: "default",
    });
  });

  test("gets the settings of its ServiceAccount and RuntimeClass", async () => {
    const made = await api.create(pods, withSpec("taker", { serviceAccount: "puller", runtimeClassName: "heavy" }));
    expect(made.spec).toMatchObject({
      serviceAccountName: "puller",
      imagePullSecrets: [{ name: "registry" }],
      overhead: { memory: "64Mi" },
      nodeSelector: { vm: "yes" },
      tolerations: [{ key: "vm", operator: "Exists" }],
    });
  });

  test.for([
    [{ serviceAccountName: "missing" }, 'serviceaccount "missing" not found'],
    [{ runtimeClassName: "missing" }, 'RuntimeClass "missing" not found'],
    [{ runtimeClassName: "heavy", nodeSelector: { vm: "no" } }, "nodeSelector[vm]"],
  ] as const)("is refused with %j", async ([spec, why]) => {
    const answer = await api.send("POST", pods, withSpec("refused", spec));
    expect(answer).toMatchObject({ status: 403, body: { reason: "Forbidden" } });
    expect(answer.body.message).toContain(why);
    expect((await api.send("GET", `${pods}/refused`)).status).toBe(404);
  });

  test("keeps its owner references and QoS class when its status is written", async () => {
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "u" };
    const { metadata } = await api.create(pods, pod("reported", { finalizers: ["example.com/stay"] }));
    const { body } = await api.send("PUT", `${pods}/reported/status`, {
      metadata: { ...metadata, labels: { seen: "yes" }, ownerReferences: [owner] },
      status: { phase: "Running" },
    });
    expect(body).toMatchObject({
      metadata: { labels: { seen: "yes" } },
      status: { phase: "Running", qosClass: "BestEffort" },
    });
    expect(body.metadata).not.toHaveProperty("ownerReferences");
  });
});

test("a server with a node has a RuntimeClass for each runtime of the node", async () => {
  await using box = await TestApi.start({ nodeName: "box" });
  expect(await box.names(classes)).toEqual(["gvisor", "runc"]);
  await using own = await TestApi.start({ nodeName: "box", runtimeClasses: ["kata"] });
  expect(await own.names(classes)).toEqual(["kata"]);
});
