import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type { Method } from "@agent-sandbox/kube";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anonymous, type Identity } from "../auth/identity.ts";
import { Tenant } from "../testing/tenant.test.support.ts";
import { type Answer, pod, TestApi } from "../testing/test-api.test.support.ts";

const routerForward = { connect: async () => new PassThrough() };
let api: TestApi;
let edit: Tenant;
let admin: Tenant;
const stranger: Identity = { user: "stranger", groups: ["system:authenticated"] };

beforeAll(async () => {
  api = await TestApi.start({ nodeName: "box", routerForward });
  edit = await Tenant.join(api, "own");
  admin = await Tenant.join(api, "own", { role: "admin" });
});
afterAll(() => api.server.close());

const send = async (identity: Identity, method: Method, path: string): Promise<Answer> =>
  api.server.transportAs(identity).send({ method, path, headers: {} });

const service = (namespace: string): string => `/api/v1/namespaces/${namespace}/services/sandbox-router-svc`;
const routerPod = (namespace: string): string => `/api/v1/namespaces/${namespace}/pods/sandbox-router`;
const slices = (namespace: string): string => `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;

describe("the objects of the router", () => {
  test("lead every authenticated user from the Service to the Pod, in every namespace", async () => {
    for (const namespace of ["agent-sandbox-system", "own", "victim"]) {
      const { status, body } = await send(stranger, "GET", service(namespace));
      expect([status, body.spec.ports[0].port]).toEqual([200, 8080]);
      const [[label, value]] = Object.entries(body.spec.selector) as [[string, string]];
      const selector = encodeURIComponent(`${label}=${value}`);
      const list = await send(
        stranger,
        "GET",
        `/api/v1/namespaces/${namespace}/pods?labelSelector=${selector}&limit=500`,
      );
      expect(list.body.items.map((each: { metadata: object }) => each.metadata)).toMatchObject([
        { name: "sandbox-router", namespace },
      ]);
      const found = await send(stranger, "GET", routerPod(namespace));
      expect([found.status, found.body.status.phase]).toEqual([200, "Running"]);
    }
  });

  test("are found by EndpointSlices, as the Go client looks for them", async () => {
    const path = `${slices("own")}?labelSelector=kubernetes.io%2Fservice-name%3Dsandbox-router-svc`;
    const { status, body } = await send(stranger, "GET", path);
    expect([status, body.items]).toMatchObject([
      200,
      [
        {
          endpoints: [
            { conditions: { ready: true }, targetRef: { kind: "Pod", name: "sandbox-router", namespace: "own" } },
          ],
        },
      ],
    ]);
  });

  test("are shown as a table by kubectl", async () => {
    const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
    const { body } = await api.send("GET", routerPod("own"), undefined, headers);
    expect([body.kind, body.rows[0].cells.slice(0, 3)]).toEqual(["Table", ["sandbox-router", "1/1", "Running"]]);
  });

  test("are in no other list, and in no watch", async () => {
    for (const path of ["/api/v1/pods", "/api/v1/namespaces/own/pods", "/api/v1/services", slices("own")]) {
      expect(JSON.stringify(await api.names(path))).not.toContain("sandbox-router");
    }
    const watching = await api.watch(
      "/api/v1/namespaces/own/pods?watch=true&labelSelector=agents.x-k8s.io/provided%3Dsandbox-router&timeoutSeconds=1",
    );
    expect(
      (
        await send(
          stranger,
          "GET",
          "/api/v1/namespaces/own/pods?watch=true&labelSelector=agents.x-k8s.io/provided%3Dsandbox-router",
        )
      ).status,
    ).toBe(403);
    watching.stop();
  });

  test("are not readable without authentication, also by impersonation", async () => {
    for (const path of [service("own"), routerPod("agent-sandbox-system")]) {
      expect((await send(anonymous, "GET", path)).status).toBe(403);
    }
  });

  test("give no access to anything else", async () => {
    const paths = [
      "/api/v1/namespaces/agent-sandbox-system/pods",
      "/api/v1/namespaces/agent-sandbox-system/pods?labelSelector=agents.x-k8s.io/provided",
      "/api/v1/namespaces/agent-sandbox-system/pods?labelSelector=agents.x-k8s.io/provided%3Dsandbox-router&labelSelector=",
      "/api/v1/pods?labelSelector=agents.x-k8s.io/provided%3Dsandbox-router",
      "/api/v1/namespaces/own/services?labelSelector=agents.x-k8s.io/provided%3Dsandbox-router",
      "/api/v1/namespaces/own/pods/sandbox-router-2",
      `${routerPod("own")}/log`,
      `${routerPod("own")}/status`,
      "/api/v1/namespaces/own/secrets/sandbox-router",
      "/api/v1/namespaces/a%20b/pods/sandbox-router",
    ];
    for (const path of paths) expect([path, (await send(stranger, "GET", path)).status]).toEqual([path, 403]);
  });

  test.for<[Method, string, string]>([
    ["PUT", "pods/sandbox-router", ""],
    ["PATCH", "pods/sandbox-router", ""],
    ["DELETE", "pods/sandbox-router", ""],
    ["GET", "pods/sandbox-router", "/log"],
    ["PUT", "pods/sandbox-router", "/status"],
    ["POST", "pods/sandbox-router", "/eviction"],
    ["POST", "pods/sandbox-router", "/binding"],
    ["PATCH", "pods/sandbox-router", "/ephemeralcontainers"],
    ["POST", "pods/sandbox-router", "/exec"],
    ["POST", "pods/sandbox-router", "/attach"],
    ["PUT", "services/sandbox-router-svc", ""],
    ["PATCH", "services/sandbox-router-svc", ""],
    ["DELETE", "services/sandbox-router-svc", ""],
    ["PUT", "services/sandbox-router-svc", "/status"],
  ])("%s %s%s is refused, also for administrators", async ([method, object, part]) => {
    const path = `/api/v1/namespaces/own/${object}${part}`;
    const [, name] = object.split("/");
    const headers = { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json" };
    const body = { metadata: { name, labels: { changed: "yes" } } };
    for (const transport of [api.server.transport, api.server.transportAs(admin.identity)]) {
      const { status } = await transport.send({ method, path, headers, body });
      expect(status).toBe(403);
    }
    expect((await api.get(`/api/v1/namespaces/own/${object}`)).metadata["labels"]).not.toHaveProperty("changed");
  });

  test("cannot be replaced by objects of tenants", async () => {
    const named = { ...pod("sandbox-router") };
    expect(await edit.send("POST", edit.core("pods"), named)).toMatchObject({
      status: 409,
      body: { reason: "AlreadyExists" },
    });
    const imposter = {
      metadata: { name: "sandbox-router-svc" },
      spec: { selector: { a: "b" }, ports: [{ port: 8080 }] },
    };
    expect((await edit.send("POST", edit.core("services"), imposter)).status).toBe(409);
    expect((await edit.send("PUT", edit.core("services", "sandbox-router-svc"), imposter)).status).toBe(403);
    const applied = await api.apply(edit.core("services", "sandbox-router-svc"), "me", {
      apiVersion: "v1",
      kind: "Service",
      ...imposter,
    });
    expect(applied.status).toBe(403);
    const labels = { "agents.x-k8s.io/provided": "sandbox-router" };
    await api.create(edit.core("pods"), { ...pod("imposter"), metadata: { name: "imposter", labels } });
    const found = await edit.send(
      "GET",
      `${edit.core("pods")}?labelSelector=agents.x-k8s.io/provided%3Dsandbox-router`,
    );
    expect(found.body.items.map((each: { metadata: { name: string } }) => each.metadata.name)).toEqual([
      "sandbox-router",
    ]);
  });

  test("give way to objects of these names that an earlier version has stored", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "apiserver-provided-"));
    try {
      const earlier = await TestApi.start({ dataDir });
      await earlier.create("/api/v1/namespaces/default/pods", pod("sandbox-router"));
      await earlier.server.close();
      await using later = await TestApi.start({ dataDir, routerForward });
      expect((await later.get(routerPod("default"))).metadata["labels"]).toBeUndefined();
      const transport = later.server.transportAs(stranger);
      expect((await transport.send({ method: "GET", path: routerPod("default") })).status).toBe(403);
      expect((await later.send("DELETE", `${routerPod("default")}?gracePeriodSeconds=0`)).status).toBe(200);
      expect((await transport.send({ method: "GET", path: routerPod("default") })).status).toBe(200);
    } finally {
      rmSync(dataDir, { recursive: true });
    }
  });

  test("do not exist on a server without a router", async () => {
    await using bare = await TestApi.start();
    expect((await bare.send("GET", service("default"))).status).toBe(404);
    await bare.create("/api/v1/namespaces/default/pods", pod("sandbox-router"));
  });
});
