import type { Pod } from "@agent-sandbox/api";
import type { KubeObject, Resource } from "@agent-sandbox/kube";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pods, type Tenant } from "./tenant.ts";
import { until } from "./until.ts";
import { noWorld } from "./why-no-world.ts";
import { enterWorld, type World } from "./world.ts";

const annotation = "agents.x-k8s.io/allowed-runtimes";
const namespaces: Resource = { apiVersion: "v1", kind: "Namespace", plural: "namespaces", namespaced: false };
const extension = (kind: string, plural: string): Resource<KubeObject & { spec: object }> => ({
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind,
  plural,
  namespaced: true,
});
const templates = extension("SandboxTemplate", "sandboxtemplates");
const pools = extension("SandboxWarmPool", "sandboxwarmpools");

const refusal = 'runtime "runc" is not allowed in namespace';
const messageOf = (pod: Pod): string => pod.status?.containerStatuses?.[0]?.state?.waiting?.message ?? "";
const merge = { "content-type": "application/merge-patch+json" };

/** The operator of this box allows both runtimes, and in the attacker's namespace only gVisor. */
describe.skipIf(noWorld)("a tenant who may only use gVisor", () => {
  let world: World;
  let mallory: Tenant;
  beforeAll(async () => {
    world = await enterWorld();
    mallory = await world.tenant();
    const body = { metadata: { annotations: { [annotation]: "gvisor" } } };
    await world.admin.client.patch(namespaces, { name: mallory.namespace }, { type: "merge", body });
  });
  afterAll(async () => {
    await mallory?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  /** Checks that no process was started for a Pod that is not allowed, and that its status and an event say why. */
  async function outcomeOf(name: string): Promise<{ message: string; container: string; told: boolean }> {
    const pod = await mallory.podUntil(name, (one) => messageOf(one) !== "");
    const told = await until(async () => (await mallory.events(name)).join("\n").includes(refusal) || undefined);
    return { message: messageOf(pod), container: pod.status?.containerStatuses?.[0]?.containerID ?? "", told };
  }

  const refused = () => ({
    message: expect.stringContaining(`${refusal} "${mallory.namespace}"; allowed: gvisor.`) as string,
    container: "",
    told: true,
  });

  test("cannot start a Pod with runc, whatever annotations the Pod has", async () => {
    const metadata = { annotations: { [annotation]: "runc" }, labels: { [annotation]: "runc" } };
    await mallory.createPod("direct", { runtime: "runc", metadata });
    expect(await outcomeOf("direct")).toEqual(refused());
    await mallory.removePod("direct");
  });

  test("cannot have a controller start it: Sandbox, template and warm pool", async () => {
    await mallory.createSandbox("by-sandbox", { runtime: "runc" });
    expect(await outcomeOf("by-sandbox")).toEqual(refused());
    const podTemplate = { spec: { runtimeClassName: "runc", containers: [{ name: "main", image: "host" }] } };
    await mallory.create(templates, "by-template", { spec: { podTemplate } });
    await mallory.create(pools, "by-pool", { spec: { replicas: 1, sandboxTemplateRef: { name: "by-template" } } });
    const member = await until(async () => {
      const { items } = await mallory.client.list(pods, { namespace: mallory.namespace });
      return items.map(({ metadata }) => metadata?.name ?? "").find((name) => name.startsWith("by-pool-"));
    });
    expect(await outcomeOf(member)).toEqual(refused());
    await mallory.client.delete(pools, { namespace: mallory.namespace, name: "by-pool" });
  });

  test("cannot change what the Namespace allows", async () => {
    const path = `/api/v1/namespaces/${mallory.namespace}`;
    const body = { metadata: { annotations: { [annotation]: "runc" } } };
    expect(await mallory.request("PATCH", path, body, merge)).toMatchObject({ status: 403 });
    expect(await mallory.request("PATCH", `${path}/status`, body, merge)).toMatchObject({ status: 403 });
    const put = { apiVersion: "v1", kind: "Namespace", metadata: { name: mallory.namespace, ...body.metadata } };
    expect(await mallory.request("PUT", path, put)).toMatchObject({ status: 403 });
    expect(await mallory.request("PUT", `${path}/finalize`, put)).toMatchObject({ status: 403 });
    expect(await mallory.request("DELETE", path)).toMatchObject({ status: 403 });
  });

  test("cannot create a RuntimeClass for runc", async () => {
    const path = "/apis/node.k8s.io/v1/runtimeclasses";
    const body = { apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", metadata: { name: "mine" }, handler: "runc" };
    expect(await mallory.request("POST", path, body)).toMatchObject({ status: 403 });
    expect(await mallory.request("PATCH", `${path}/gvisor`, { handler: "runc" }, merge)).toMatchObject({ status: 403 });
  });

  test("cannot change the runtime of a running Pod, and ephemeral containers run under gVisor", async () => {
    await mallory.runPod("running", { runtime: "gvisor" });
    const path = `/api/v1/namespaces/${mallory.namespace}/pods/running`;
    const change = { spec: { runtimeClassName: "runc" } };
    expect(await mallory.request("PATCH", path, change, merge)).toMatchObject({ status: 422 });
    const ephemeralContainers = [{ name: "added", image: "host", command: ["sleep", "infinity"] }];
    const added = { spec: { ...change.spec, ephemeralContainers } };
    const outcome = await mallory.request("PATCH", `${path}/ephemeralcontainers`, added, merge);
    expect([200, 422, 403]).toContain(outcome.status);
    const pod = await mallory.client.get(pods, { namespace: mallory.namespace, name: "running" });
    expect(pod.spec?.runtimeClassName).toBe("gvisor");
    expect(await mallory.shell("running", "dmesg | head -1")).toContain("gVisor");
    await mallory.removePod("running");
  });

  test("does not keep others from running: the victim is unharmed", async () => {
    expect(await world.alice.harm()).toEqual([]);
  });
});
