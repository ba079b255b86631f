import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import { lastActivityAnnotation, type Sandbox, sandboxes, sandboxNameHashLabel } from "@agent-sandbox/api";
import type { KubeObject, Resource } from "@agent-sandbox/kube";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openSocket } from "../../packages/cli/src/client/pod-socket.ts";
import { requestOptions } from "../../packages/cli/src/client/raw-request.ts";
import { podPath } from "../../packages/cli/src/client/sandbox-pod.ts";
import { pods, type Tenant } from "./tenant.ts";
import { noWorld } from "./why-no-world.ts";
import { enterWorld, type World } from "./world.ts";

const bindings: Resource<KubeObject & { roleRef: object; subjects: object[] }> = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "RoleBinding",
  plural: "rolebindings",
  namespaced: true,
};

const day = 24 * 3600;

/** Tenants who try to wake a Sandbox of another tenant, or to keep it awake, by sessions through the API server. */
describe.skipIf(noWorld)("a session through the API server", () => {
  let world: World;
  let victim: Tenant;
  let mallory: Tenant;
  beforeAll(async () => {
    world = await enterWorld();
    victim = await world.tenant("sleeper");
    mallory = await world.tenant();
    await victim.createSandbox("asleep", {}, { operatingMode: "Suspended", resumePolicy: "OnTraffic", service: true });
    await victim.runSandbox("awake", {}, { idlePolicy: { suspendAfterSeconds: day } });
  });
  afterAll(async () => {
    for (const name of ["asleep", "awake"]) {
      await victim?.client.delete(sandboxes, { namespace: victim.namespace, name });
    }
    await victim?.[Symbol.asyncDispose]();
    await mallory?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const stateOf = async (name: string): Promise<unknown[]> => {
    const { metadata, spec }: Sandbox = await victim.client.get(sandboxes, { namespace: victim.namespace, name });
    return [spec.operatingMode, metadata.annotations?.[lastActivityAnnotation]];
  };

  const parts = ["exec?command=true&stdout=true", "attach?stdout=true", "portforward?ports=80", "proxy/"];

  /** The errors of every kind of session with a Pod of the victim. */
  const attempts = async (pod: string): Promise<string[]> => {
    const upgrades = parts.map((part) => {
      const path = podPath(victim.namespace, pod, part);
      return openSocket(mallory.access, path, "v4.channel.k8s.io").then(() => `${part}: opened`, String);
    });
    const services = `/api/v1/namespaces/${victim.namespace}/services/${pod}/proxy/`;
    const reads = [podPath(victim.namespace, pod, "proxy/"), services].map(async (path) => {
      const { status } = await mallory.request("GET", path);
      return status === 403 ? "forbidden" : `${path}: ${status}`;
    });
    return await Promise.all([...upgrades, ...reads]);
  };

  const refused = Array.from({ length: parts.length + 2 }, () => expect.stringContaining("forbidden") as string);

  test("wakes no Sandbox of another tenant", async () => {
    expect(await attempts("asleep")).toEqual(refused);
    expect(await stateOf("asleep")).toEqual(["Suspended", undefined]);
  });

  test("wakes no Sandbox, and keeps none awake, for users with the role view", async () => {
    const [account, namespace] = [mallory.namespace, victim.namespace];
    await world.admin.client.create(bindings, {
      metadata: { name: "reader", namespace },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
      subjects: [{ kind: "ServiceAccount", name: account, namespace: "tenants" }],
    });
    expect(await attempts("asleep")).toEqual(refused);
    expect(await attempts("awake")).toEqual(refused);
    const follow = async (pod: string): Promise<IncomingMessage> => {
      const path = podPath(namespace, pod, "log?follow=true");
      const { url, ...options } = await requestOptions(mallory.access, path);
      const [response] = (await once(get(url, options), "response")) as [IncomingMessage];
      return response;
    };
    const followed = [await follow("asleep"), await follow("awake")];
    expect(followed.map(({ statusCode }) => statusCode)).toEqual([404, 200]);
    expect([await stateOf("asleep"), await stateOf("awake")]).toEqual([
      ["Suspended", undefined],
      ["Running", undefined],
    ]);
    for (const response of followed) response.destroy();
  });

  test("with a Pod of one's own keeps no Sandbox of another tenant awake, whatever owner and labels it claims", async () => {
    const { metadata } = await victim.client.get(sandboxes, { namespace: victim.namespace, name: "awake" });
    const { labels } = (await victim.pod("awake")).metadata ?? {};
    const owner = { apiVersion: sandboxes.apiVersion, kind: "Sandbox", name: "awake", uid: metadata.uid ?? "" };
    const ownerReferences = [{ ...owner, controller: true }];
    const forged = await mallory.createPod("awake", { metadata: { ownerReferences } }).then(() => "created", String);
    expect(forged).toContain("forbidden");
    await mallory.runPod("awake", { metadata: { labels: { ...labels, [sandboxNameHashLabel]: "x" } } });
    expect(await mallory.shell("awake", "echo mine")).toBe("mine");
    expect(await stateOf("awake")).toEqual(["Running", undefined]);
    await mallory.client.delete(pods, { namespace: mallory.namespace, name: "awake" });
  });

  test("counts for the Sandbox whose Pod it is", async () => {
    expect(await victim.shell("awake", "echo mine")).toBe("mine");
    expect(await stateOf("awake")).toEqual(["Running", expect.stringMatching(/^\d{4}-/)]);
  });
});
