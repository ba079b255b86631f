import { hostname } from "node:os";
import { type Pod, sandboxes } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Tenant } from "./tenant.ts";
import { until } from "./until.ts";
import { noWorld } from "./why-no-world.ts";
import { enterWorld, type World } from "./world.ts";

interface Listed {
  readonly items: readonly { readonly metadata: { readonly name: string; readonly namespace: string } }[];
  readonly metadata: { readonly continue?: string };
}

/** A tenant writes objects that claim permissions or relations it does not have. */
describe.skipIf(noWorld)("objects that claim too much", () => {
  let world: World;
  let mallory: Tenant;
  let own: string;
  let web: Pod;
  beforeAll(async () => {
    world = await enterWorld();
    mallory = await world.tenant();
    own = `/api/v1/namespaces/${mallory.namespace}`;
    web = await world.admin.client.get(
      { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true },
      { namespace: "alice", name: "web" },
    );
  });
  afterAll(async () => {
    await mallory?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const podOf = (metadata: object, more: object = {}): object => ({
    metadata,
    spec: { containers: [{ name: "main", image: "host", command: ["sleep", "infinity"] }] },
    ...more,
  });

  test("a Pod with another tenant's Sandbox as its controller is refused", async () => {
    const { items } = await world.admin.client.list(sandboxes, { namespace: "alice" });
    const [owner] = items.filter(({ metadata }) => metadata.name === "web");
    expect(owner).toBeDefined();
    const reference = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: "web", uid: owner?.metadata.uid };
    for (const lie of [{}, { apiVersion: "v1", kind: "ConfigMap", name: "x" }]) {
      const ownerReferences = [{ ...reference, controller: true, ...lie }];
      const answer = await mallory.request("POST", `${own}/pods`, podOf({ name: "forged", ownerReferences }));
      expect(answer).toMatchObject({ status: 403 });
    }
  });

  test("an owner reference to another namespace delays no deletion there", async () => {
    const path = "/api/v1/namespaces/alice/configmaps";
    const { body } = await world.admin.request("POST", path, { metadata: { generateName: "owner-" } });
    const { name, uid } = (body as { metadata: { name: string; uid: string } }).metadata;
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name, uid, blockOwnerDeletion: true }];
    const metadata = { name: "blocker", ownerReferences, finalizers: ["example.com/held"] };
    expect(await mallory.request("POST", `${own}/configmaps`, { metadata })).toMatchObject({ status: 201 });
    await world.admin.request("DELETE", `${path}/${name}?propagationPolicy=Foreground`);
    await until(async () => ((await world.admin.request("GET", `${path}/${name}`)).status === 404 ? true : undefined));
    await mallory.request(
      "PATCH",
      `${own}/configmaps/blocker`,
      { metadata: { finalizers: null } },
      { "content-type": "application/merge-patch+json" },
    );
  });

  test("a status and a UID in a new object are ignored", async () => {
    const status = { phase: "Running", podIP: web.status?.podIP, conditions: [{ type: "Ready", status: "True" }] };
    const forged = podOf({ name: "forged-status", uid: web.metadata?.uid }, { status });
    const { body } = await mallory.request("POST", `${own}/pods`, {
      ...forged,
      spec: { ...(forged as { spec: object }).spec, nodeName: "elsewhere" },
    });
    expect(body).toMatchObject({ status: { phase: "Pending" } });
    expect(JSON.stringify(body)).not.toContain(String(web.status?.podIP));
    expect((body as Pod).metadata?.uid).not.toBe(web.metadata?.uid);
    await mallory.request("DELETE", `${own}/pods/forged-status?gracePeriodSeconds=0`);
  });

  test.for([
    ["PUT", "pods/x/status"],
    ["PATCH", "pods/x/status"],
    ["POST", "pods/x/binding"],
    ["PUT", "pods/x/ephemeralcontainers"],
    ["PUT", "services/x/status"],
    ["PUT", "persistentvolumeclaims/x/status"],
    ["POST", "endpoints"],
  ] as const)("%s %s is forbidden for tenants, even in their own namespace", async ([method, path]) => {
    expect(await mallory.request(method, `${own}/${path}`, {})).toMatchObject({ status: 403 });
  });

  test.for([
    ["GET", ""],
    ["GET", `/${hostname().toLowerCase()}`],
    ["PATCH", `/${hostname().toLowerCase()}`],
    ["PATCH", `/${hostname().toLowerCase()}/status`],
  ] as const)("%s of what the node says about its machine is forbidden (nodes%s)", async ([method, path]) => {
    const forged = { metadata: { annotations: { "agents.x-k8s.io/machine-report": "{}" } } };
    const type = { "content-type": "application/merge-patch+json" };
    const sent = method === "GET" ? ([] as const) : ([forged, type] as const);
    expect(await mallory.request(method, `/api/v1/nodes${path}`, ...sent)).toMatchObject({ status: 403 });
  });

  test("a forged continue token shows nothing of other namespaces", async () => {
    for (const name of ["a", "b"]) await mallory.request("POST", `${own}/configmaps`, { metadata: { name } });
    const { body } = await mallory.request("GET", `${own}/configmaps?limit=1`);
    const token = (body as Listed).metadata.continue ?? "";
    const [revision] = JSON.parse(Buffer.from(token, "base64url").toString()) as [number];
    for (const after of ["", "alice", "alice/", "agent-sandbox-system/", "\u0000"]) {
      const forged = Buffer.from(JSON.stringify([revision, after])).toString("base64url");
      const answer = await mallory.request("GET", `${own}/configmaps?limit=500&continue=${forged}`);
      expect(answer.status).toBe(200);
      const namespaces = (answer.body as Listed).items.map(({ metadata }) => metadata.namespace);
      expect(namespaces.filter((namespace) => namespace !== mallory.namespace)).toEqual([]);
      expect(await mallory.request("GET", `/api/v1/configmaps?continue=${forged}`)).toMatchObject({ status: 403 });
    }
  });

  test("no lease, event or annotation of the box or of another tenant can be written", async () => {
    const coordination = "/apis/coordination.k8s.io/v1/namespaces";
    const json = { "content-type": "application/merge-patch+json" };
    const annotations = { metadata: { annotations: { "agents.x-k8s.io/allowed-runtimes": "runc" } } };
    const attempts = [
      await mallory.request("POST", `${coordination}/kube-node-lease/leases`, { metadata: { name: "box" } }),
      await mallory.request("POST", `${coordination}/agent-sandbox-system/leases`, { metadata: { name: "x" } }),
      await mallory.request("POST", "/api/v1/namespaces/alice/events", { metadata: { name: "x" } }),
      await mallory.request("PATCH", `/api/v1/namespaces/${mallory.namespace}`, annotations, json),
      await mallory.request("PATCH", "/api/v1/namespaces/alice/pods/web", annotations, json),
    ];
    expect(attempts.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403]);
    const involvedObject = { kind: "Pod", namespace: "alice", name: "web" };
    const event = { metadata: { name: "x" }, involvedObject, reason: "Killing", message: "x", type: "Warning" };
    expect(await mallory.request("POST", `${own}/events`, event)).toMatchObject({ status: 422 });
  });

  test("the victim's Pods, traffic and files are as before", async () => {
    expect(await world.alice.harm()).toEqual([]);
  });
});
