import { sandboxes } from "@agent-sandbox/api";
import type { Resource } from "@agent-sandbox/kube";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { forwardToRouter, statusOf } from "./forward-to-router.ts";
import { hostileServer } from "./hostile-server.ts";
import type { Tenant } from "./tenant.ts";
import { until } from "./until.ts";
import { noWorld } from "./why-no-world.ts";
import { enterWorld, type World } from "./world.ts";

const services: Resource = { apiVersion: "v1", kind: "Service", plural: "services", namespaced: true };

/** The router hands a port-forward the identity of its client. A tenant tries to get more than its own identity. */
describe.skipIf(noWorld)("a tenant who forwards a port of the router", () => {
  let world: World;
  let mallory: Tenant;
  beforeAll(async () => {
    world = await enterWorld();
    mallory = await world.tenant();
    await hostileServer.start(mallory, "web");
  });
  afterAll(async () => {
    await mallory?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const named = (namespace: string): Record<string, string> => ({
    "X-Sandbox-ID": "web",
    "X-Sandbox-Namespace": namespace,
    "X-Sandbox-Port": "8000",
  });

  test("reaches its own sandbox without a token, and no other tenant's", async () => {
    for (const namespace of ["agent-sandbox-system", mallory.namespace, "alice"]) {
      const own = await forwardToRouter(mallory.account, { namespace, headers: named(mallory.namespace) });
      expect(statusOf(own)).toBe(200);
      const other = await forwardToRouter(mallory.account, { namespace, path: "/diary", headers: named("alice") });
      expect([statusOf(other), other.includes(world.alice.secret)]).toEqual([403, false]);
    }
    expect(await world.alice.harm()).toEqual([]);
  });

  test("cannot act as somebody else with headers, a forged token or the address of a Pod", async () => {
    const forged: Record<string, string>[] = [
      { "Impersonate-User": "admin", "Impersonate-Group": "system:masters" },
      { "X-Remote-User": "admin", "X-Remote-Group": "system:masters" },
      { "X-Forwarded-For": "127.0.0.1", Forwarded: "for=127.0.0.1" },
      { "X-Sandbox-User": "system:admin", "X-Sandbox-UID": world.alice.record.uids["web"] ?? "" },
      { "X-Sandbox-Pod-IP": world.alice.record.pods["web"]?.address ?? "" },
      { Authorization: "Bearer forged" },
    ];
    for (const headers of forged) {
      const response = await forwardToRouter(mallory.account, {
        path: "/diary",
        headers: { ...named("alice"), ...headers },
      });
      expect([headers, [401, 403].includes(statusOf(response)), response.includes(world.alice.secret)]).toEqual([
        headers,
        true,
        false,
      ]);
    }
  });

  test("gets nothing without a valid token", async () => {
    for (const token of ["", "forged"]) {
      const request = { headers: named(mallory.namespace) };
      const said = await forwardToRouter({ ...mallory.account, token }, request).catch(() => "refused");
      expect(said).toBe("refused");
    }
  });

  test("cannot lend the identity to a web page", async () => {
    for (const headers of [{ Origin: "http://evil.example" }, { Host: "evil.example:40123" }]) {
      const response = await forwardToRouter(mallory.account, { headers: { ...named(mallory.namespace), ...headers } });
      expect(statusOf(response)).toBe(401);
    }
  });

  test("reaches no other port", async () => {
    const said = await forwardToRouter(mallory.account, { port: 6443, headers: {} });
    expect(said).toContain("the router has no port but 8080");
  });

  test.for(["exec?command=sh&stdout=true", "attach?stdout=true", "log", "eviction", "proxy/", "status", "binding"])(
    "cannot use pods/sandbox-router/%s",
    async (part) => {
      for (const namespace of [mallory.namespace, "agent-sandbox-system"]) {
        const path = `/api/v1/namespaces/${namespace}/pods/sandbox-router/${part}`;
        const { status } = await mallory.request(part === "log" ? "GET" : "POST", path, {});
        expect(status).toBe(403);
      }
    },
  );

  test("cannot change or delete the Pod and the Service, or find them in lists", async () => {
    for (const object of ["pods/sandbox-router", "services/sandbox-router-svc"]) {
      const path = `/api/v1/namespaces/${mallory.namespace}/${object}`;
      expect((await mallory.request("DELETE", path)).status).toBe(403);
      const merge = { "content-type": "application/merge-patch+json" };
      expect((await mallory.request("PATCH", path, { metadata: { labels: { a: "b" } } }, merge)).status).toBe(403);
      const [plural = ""] = object.split("/");
      const list = await mallory.request("GET", `/api/v1/namespaces/${mallory.namespace}/${plural}`);
      expect(JSON.stringify(list.body)).not.toContain("sandbox-router");
    }
  });

  test("cannot take over the names with a Pod, a Service or a Sandbox", async () => {
    await expect(mallory.createPod("sandbox-router")).rejects.toThrow("already exists");
    const spec = { selector: { app: "evil" }, ports: [{ port: 8080 }] };
    const service = { metadata: { namespace: mallory.namespace, name: "sandbox-router-svc" }, spec };
    await expect(mallory.client.create(services, service)).rejects.toThrow("already exists");
    await mallory.createSandbox("sandbox-router");
    const name = { namespace: mallory.namespace, name: "sandbox-router" };
    const isRefused = async (): Promise<true | undefined> => {
      const { status } = await mallory.client.get(sandboxes, name);
      return status?.conditions?.some(({ reason }) => reason === "ReconcilerError") === true ? true : undefined;
    };
    expect(await until(isRefused)).toBe(true);
    const through = await forwardToRouter(mallory.account, {
      namespace: mallory.namespace,
      headers: named(mallory.namespace),
    });
    expect(statusOf(through)).toBe(200);
    await mallory.client.delete(sandboxes, name);
  });
});
