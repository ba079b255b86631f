import { request } from "node:https";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ApiServer, Listening } from "../api-server.ts";
import { createApiServer } from "../create-api-server.ts";
import { samplesOf, total } from "./scrape.test.support.ts";

let server: ApiServer;
let listening: Listening;
beforeAll(async () => {
  server = await createApiServer({ partMetrics: { router: async () => "open_doors 3\n" } });
  listening = await server.listen();
});
afterAll(() => server.close());

interface Answer {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly body: string;
}

async function get(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port: listening.port, path, method, headers, ca: listening.authority };
    const asked = request(options, (response) => {
      text(response).then(
        (body) => resolve({ status: response.statusCode, type: response.headers["content-type"], body }),
        reject,
      );
    });
    asked.on("error", reject);
    asked.end();
  });
}

const admin = (): Record<string, string> => ({ authorization: `Bearer ${listening.token}` });
const scrape = async (): Promise<string> => (await get("/metrics", admin())).body;

describe("a scrape over HTTPS", () => {
  test("is valid Prometheus text", async () => {
    const { status, type, body } = await get("/metrics", admin());
    expect({ status, type }).toEqual({ status: 200, type: "text/plain; version=0.0.4; charset=utf-8" });
    expect(samplesOf(body).size).toBeGreaterThan(50);
    const announced = [...body.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name]) => name);
    expect(new Set(announced).size).toBe(announced.length);
  });

  test("counts requests", async () => {
    const labels = { verb: "LIST", resource: "pods", scope: "cluster", code: "200" };
    const before = total(await scrape(), "apiserver_request_total", labels);
    for (let at = 0; at < 3; at += 1) await get("/api/v1/pods", admin());
    expect(total(await scrape(), "apiserver_request_total", labels)).toBe(before + 3);
  });

  test("does not grow with requests of unauthenticated clients", async () => {
    const nonsense = async (round: number): Promise<number> => {
      for (let at = 0; at < 30; at += 1) {
        await get(`/${round}-${at}/%22%7d%0a`, admin());
        await get(`/apis/g${round}-${at}.example/v1/namespaces/n${at}/x${at}/y/z`, at % 2 === 0 ? admin() : {});
        await get(
          `/api/v1/namespaces/n${round}-${at}/pods/p${at}/exec-${at}`,
          admin(),
          at % 3 === 0 ? "PURGE" : "POST",
        );
      }
      return samplesOf(await scrape()).size;
    };
    const once = await nonsense(1);
    expect(await nonsense(2)).toBe(once);
  });
});

describe("permission to scrape", () => {
  test("is refused without valid credentials", async () => {
    const before = total(await scrape(), "authentication_attempts", { result: "failure" });
    expect((await get("/metrics")).status).toBe(401);
    expect((await get("/metrics", { authorization: "Bearer wrong" })).status).toBe(401);
    expect(total(await scrape(), "authentication_attempts", { result: "failure" })).toBe(before + 2);
  });

  test("needs a role", async () => {
    const as = (group: string): Record<string, string> => ({
      ...admin(),
      "impersonate-user": "jane",
      "impersonate-group": group,
    });
    expect((await get("/metrics", as("system:authenticated"))).status).toBe(403);
    expect((await get("/metrics", as("system:monitoring"))).status).toBe(200);
    const text = await scrape();
    expect(total(text, "apiserver_request_total", { subresource: "/metrics", code: "403" })).toBe(1);
  });
});

describe("the metrics of another part", () => {
  const path = "/agent-sandbox/metrics/router";

  test("are in the same format", async () => {
    const { type } = await get("/metrics", admin());
    expect(await get(path, admin())).toEqual({ status: 200, type, body: "open_doors 3\n" });
    expect((await get(path, admin(), "POST")).status).toBe(405);
  });

  test.for(["manager", "", "constructor", "__proto__"])("are not found for %j", async (part) => {
    expect((await get(`/agent-sandbox/metrics/${part}`, admin())).status).toBe(404);
  });

  test("need the role agent-sandbox-monitoring", async () => {
    const prometheus = { ...admin(), "impersonate-user": "prometheus" };
    expect((await get(path, prometheus)).status).toBe(403);
    const subjects = [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "prometheus" }];
    const roleRef = { kind: "ClusterRole", apiGroup: "rbac.authorization.k8s.io", name: "agent-sandbox-monitoring" };
    const { status } = await server.transport.send({
      method: "POST",
      path: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
      body: { metadata: { name: "prometheus" }, subjects, roleRef },
    });
    expect(status).toBe(201);
    expect((await get(path, prometheus)).status).toBe(200);
    expect((await get("/metrics", prometheus)).status).toBe(200);
    expect((await get("/api/v1/namespaces", prometheus)).status).toBe(403);
  });
});
