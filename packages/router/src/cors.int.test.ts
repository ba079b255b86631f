import { once } from "node:events";
import { connect } from "node:http2";
import { type Sandbox, sandboxes } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask, type Served, TestCluster, toSandbox } from "./cluster.test.support.ts";
import type { Router } from "./start-router.ts";

const cluster = new TestCluster();
const app = "https://app.example";
let pod: Served;
let router: Router;
/** Without allowed origins. */
let closed: Router;
let arrived: string[] = [];

/** A sandbox that allows every page to do everything. */
const generous = {
  "access-control-allow-origin": "*",
  "access-control-allow-credentials": "true",
  "access-control-allow-methods": "*",
  "access-control-allow-headers": "*",
  "access-control-expose-headers": "*",
  "access-control-max-age": "86400",
  "timing-allow-origin": "*",
};

beforeAll(async () => {
  pod = await cluster.serve(({ method, url }, response) => {
    arrived.push(`${method} ${url}`);
    response.writeHead(200, generous).end("content");
  });
  await cluster.pod(await cluster.sandbox("box"), pod.ip);
  cluster.users.set("alice", { username: "alice", mayConnect: ["default/box", "default/asleep"] });
  router = await cluster.router({ auth: {}, allowedOrigins: [app, "http://localhost:5173"] });
  closed = await cluster.router({ auth: {} });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const corsOf = (headers: object): object =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => /^access-control-|^timing-/.test(name)));

const preflight = (origin: string, more: Record<string, string> = {}) => ({
  method: "OPTIONS",
  headers: {
    Origin: origin,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization,x-sandbox-id",
    ...more,
  },
});

describe("a preflight request", () => {
  test("of an allowed origin is answered without a credential and without the sandbox", async () => {
    const sandbox: Sandbox = await cluster.sandbox("asleep", {
      spec: { operatingMode: "Suspended", resumePolicy: "OnTraffic" },
    });
    [arrived, cluster.reviews.length] = [[], 0];
    const paths = [
      "/process.v1.ProcessService/Execute",
      "/sandboxes/default/box/8000/x",
      "/sandboxes/default/asleep/1/",
    ];
    for (const path of [
      ...paths,
      "/sandboxes/default/nothing/80/",
      "/router/v1/namespaces/default/sandboxes/box/logins",
    ]) {
      const { status, headers, text } = await ask(router, path, preflight(app));
      expect([path, status, text, headers["vary"]]).toEqual([path, 204, "", "Origin"]);
      expect(corsOf(headers)).toEqual({
        "access-control-allow-origin": app,
        "access-control-allow-methods": "DELETE, GET, HEAD, POST, PUT",
        "access-control-allow-headers": expect.stringContaining("x-sandbox-id") as string,
        "access-control-expose-headers": expect.stringContaining("x-sandbox-reason") as string,
        "access-control-max-age": "600",
      });
    }
    const after: Sandbox = await cluster.client.get(sandboxes, { namespace: "default", name: "asleep" });
    expect([arrived, cluster.reviews, after.spec]).toEqual([[], [], sandbox.spec]);
  });

  test.for(["https://evil.example", "https://app.example.evil.example", "http://app.example", "null", "*"])(
    "of the origin %j is not",
    async (origin) => {
      for (const path of ["/", "/sandboxes/default/box/8000/x"]) {
        const { status, headers } = await ask(router, path, preflight(origin));
        expect([[400, 401].includes(status), corsOf(headers)]).toEqual([true, {}]);
      }
    },
  );

  test("is not answered if no origin is allowed", async () => {
    const { status, headers } = await ask(closed, "/", preflight(app));
    expect([status, corsOf(headers)]).toEqual([400, {}]);
  });

  test("for the host name of a sandbox needs a credential, like every request", async () => {
    const own = { host: `${pod.port}-box.default.localhost` };
    const { status, headers } = await ask(router, "/", preflight(app, own));
    expect([status, corsOf(headers)]).toEqual([401, {}]);
  });
});

describe("a response to a page", () => {
  const credential = { Authorization: "Bearer alice" };
  const forms: readonly (readonly [string, () => [path: string, headers: Record<string, string>]])[] = [
    ["a header", () => ["/", toSandbox("box", pod.port).headers]],
    ["the path", () => [`/sandboxes/default/box/${pod.port}/`, {}]],
  ];

  test.for(forms)("of a sandbox that is named by %s has the headers of the router only", async ([, form]) => {
    const [path, naming] = form();
    const headersFor = async (at: Router, origin: string): Promise<object> => {
      const { status, headers } = await ask(at, path, { headers: { ...naming, ...credential, Origin: origin } });
      expect(status).toBe(200);
      return corsOf(headers);
    };
    expect(await headersFor(router, app)).toEqual({
      "access-control-allow-origin": app,
      "access-control-expose-headers": "x-file-mode, x-more-entries, x-request-id, x-sandbox-reason",
    });
    expect(await headersFor(router, "https://evil.example")).toEqual({});
    expect(await headersFor(router, "null")).toEqual({});
    expect(await headersFor(closed, app)).toEqual({});
  });

  test("on the host name of a sandbox has the headers of the sandbox", async () => {
    const host = `${pod.port}-box.default.localhost`;
    const { headers } = await ask(router, "/", { headers: { ...credential, host, Origin: app } });
    expect(corsOf(headers)).toEqual(generous);
  });

  test("lets the page read errors of the router", async () => {
    const reasonOf = async (headers: Record<string, string>): Promise<unknown> => {
      const { status, headers: got } = await ask(router, "/", { headers: { Origin: app, ...headers } });
      return [status, got["x-sandbox-reason"], got["access-control-allow-origin"]];
    };
    expect(await reasonOf(toSandbox("box", pod.port).headers)).toEqual([401, "Unauthenticated", app]);
    expect(await reasonOf(toSandbox("other", pod.port, credential).headers)).toEqual([403, "Forbidden", app]);
    expect(await reasonOf({})).toEqual([400, "InvalidRequest", app]);
    const { headers } = await ask(router, "/healthz", { headers: { Origin: app } });
    expect(headers["access-control-allow-origin"]).toBe(app);
  });

  test("over HTTP/2 has the same headers", async () => {
    const session = connect(router.url);
    const request = async (headers: Record<string, string>): Promise<object> => {
      const stream = session.request({ ":path": "/", origin: app, ...headers });
      const [got] = (await once(stream, "response")) as [object];
      stream.resume();
      return got;
    };
    const { "X-Sandbox-ID": id = "", "X-Sandbox-Port": port = "" } = toSandbox("box", pod.port).headers;
    const named = { "x-sandbox-id": id, "x-sandbox-port": port, authorization: "Bearer alice" };
    expect(await request(named)).toMatchObject({ ":status": 200, "access-control-allow-origin": app });
    const asked = { ":method": "OPTIONS", "access-control-request-method": "PUT" };
    expect(await request(asked)).toMatchObject({ ":status": 204, "access-control-allow-origin": app });
    session.destroy();
  });
});

test.for(["*", "null", "https://app.example/", "http://8000-web.team.localhost:7680"])(
  "a router that should allow the origin %j does not start",
  async (origin) => {
    await expect(cluster.router({ allowedOrigins: [origin] })).rejects.toThrow("Cannot allow an origin");
  },
);
