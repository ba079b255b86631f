import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { startDashboard } from "./start-dashboard.ts";
import { ask, type Reply, startWithUser, userToken } from "./upstream.test.support.ts";

let stack: AsyncDisposableStack;
beforeEach(() => {
  stack = new AsyncDisposableStack();
});
afterEach(() => stack.disposeAsync());

/** As hostile as a sandbox can be. */
function answer(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, {
    "content-type": "text/html",
    "set-cookie": "agent-sandbox-dashboard=stolen",
    location: "http://evil.example/",
    "content-security-policy": "script-src *",
    "access-control-allow-origin": "*",
    "clear-site-data": '"*"',
    "x-sandbox-reason": "Refused",
  });
  response.end("<script>alert(1)</script>");
}

const start = (file?: string) => startWithUser(stack, answer, file);
type World = Awaited<ReturnType<typeof start>>;

const full = ({ user }: World): Record<string, string> => ({
  cookie: user.cookie,
  authorization: `Bearer ${user.requestToken}`,
});

describe("a session", () => {
  test("begins with a login link that works once, and has a cookie that no script and no other site can use", async () => {
    const { dashboard, link, login } = await start();
    expect([login.status, login.headers.location]).toEqual([303, "/"]);
    const [cookie = ""] = login.headers["set-cookie"] ?? [];
    expect(cookie).toMatch(/^agent-sandbox-dashboard=[\w-]{43}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/);
    expect(cookie + link).not.toContain(userToken);
    const again = await ask(dashboard, link);
    expect(again.headers["set-cookie"]).toBeUndefined();
  });

  test("sends the user's token, and nothing of the session, to the servers", async () => {
    const world = await start();
    const headers = {
      ...full(world),
      "impersonate-user": "admin",
      "x-forwarded-for": "1.2.3.4",
      "x-sandbox-id": "web",
      "x-request-id": "a-request",
    };
    const path = "/api/v1/namespaces/default/pods?limit=1";
    expect((await ask(world.dashboard, `/kube${path}`, { headers })).status).toBe(200);
    expect(
      (await ask(world.dashboard, "/runtime/v1/files/a%20b", { method: "PUT", headers, body: "content" })).status,
    ).toBe(200);
    const [toApi, toRouter] = [world.api.received.at(-1), world.router.received.at(-1)];
    expect([toApi?.url, toRouter?.url, toRouter?.body]).toEqual([path, "/v1/files/a%20b", "content"]);
    for (const received of [toApi, toRouter]) {
      expect(received?.headers).toMatchObject({
        authorization: `Bearer ${userToken}`,
        "x-sandbox-id": "web",
        "x-request-id": "a-request",
      });
      expect(Object.keys(received?.headers ?? {})).not.toEqual(
        expect.arrayContaining([expect.stringMatching(/cookie|impersonate|forwarded/)]),
      );
      expect(JSON.stringify(received?.headers)).not.toContain(world.user.requestToken);
    }
  });

  test("survives a restart in a file that only its owner can read, and ends when the user logs out", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dashboard-"));
    stack.defer(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "sessions.json");
    const world = await start(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const options = { listen: { host: "127.0.0.1", port: 0 }, api: { url: world.api.url }, router: world.router.url };
    const next = stack.use(await startDashboard({ ...options, page: "/none", sessionFile: file }));
    expect((await ask(next, "/kube/version", { headers: full(world) })).status).toBe(200);
    expect((await ask(next, "/logout", { method: "POST", headers: full(world) })).status).toBe(204);
    expect((await ask(next, "/kube/version", { headers: full(world) })).status).toBe(401);
    expect(readFileSync(file, "utf8")).toBe("[]");
  });

  test("ends when the API server no longer accepts the token", async () => {
    const world = await startWithUser(stack, (_request, response) => void response.writeHead(401).end("{}"));
    expect((await ask(world.dashboard, "/kube/version", { headers: full(world) })).status).toBe(401);
    expect((await ask(world.dashboard, "/session", { headers: full(world) })).status).toBe(401);
  });

  test("is refused to a token that the API server does not know", async () => {
    const { dashboard } = await start();
    const headers = { authorization: "Bearer other" };
    expect((await ask(dashboard, "/logins", { method: "POST", headers })).status).toBe(401);
  });
});

describe("the listener refuses", () => {
  const changed: readonly [string, (headers: Record<string, string>) => Record<string, string | undefined>, number][] =
    [
      ["a call without the request token", (headers) => ({ ...headers, authorization: undefined }), 403],
      [
        "a call with another request token",
        (headers) => ({ ...headers, authorization: `Bearer ${"x".repeat(43)}` }),
        403,
      ],
      ["a call with the user's own token", (headers) => ({ ...headers, authorization: `Bearer ${userToken}` }), 403],
      ["a call without the cookie", (headers) => ({ ...headers, cookie: undefined }), 401],
      ["two cookies", (headers) => ({ ...headers, cookie: `${headers["cookie"]}; agent-sandbox-dashboard=x` }), 401],
      ["a page of another origin", (headers) => ({ ...headers, origin: "http://127.0.0.1:7680" }), 403],
      ["a page of another site", (headers) => ({ ...headers, "sec-fetch-site": "cross-site" }), 403],
      ["a page of the same site", (headers) => ({ ...headers, "sec-fetch-site": "same-site" }), 403],
      ["a link", (headers) => ({ ...headers, "sec-fetch-site": "none" }), 403],
      ["another name that resolves to it", (headers) => ({ ...headers, host: "evil.example:7681" }), 421],
    ];
  test.for(changed)("%s", async ([, change, status]) => {
    const world = await start();
    const before = world.api.received.length;
    const headers = Object.fromEntries(
      Object.entries(change(full(world))).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    );
    for (const method of ["GET", "POST", "DELETE"]) {
      expect((await ask(world.dashboard, "/kube/api/v1/secrets", { method, headers })).status).toBe(status);
    }
    expect(world.api.received.length).toBe(before);
  });

  test.for([
    ["/kube/api/v1/namespaces/a/pods/b/proxy/x", 403],
    ["/kube/api/v1/namespaces/a/pods/b/pro%78y/x", 403],
    ["/kube/api/v1/nodes/n/proxy", 403],
    ["/kube/api/v1/nodes/n/proxy/", 403],
    ["/kube/api/v1/nodes/proxy/proxy/metrics", 403],
    ["/kube/api/v1/nodes/n/%70%72%6F%78%79/metrics", 403],
    ["/kube/api/v1/%6eodes/n/proxy", 403],
    ["/kube/api/v1/NODES/n/Proxy", 403],
    ["/kube/api/v1/nodes/https:n:10250/proxy/exec?command=id", 403],
    ["/kube/api/v1/namespaces/proxy/pods/proxy/proxy", 403],
    ["/kube/api/v1/namespaces/a/Pods/b/PROXY/x", 403],
    ["/kube/api/v1/namespaces/a/services/https:b:443/proxy/proxy", 403],
    ["/kube/api/v1/namespaces/a/services/b/proxy//x", 400],
    ["/kube/api/v1/watch/namespaces/a/pods/b/proxy", 403],
    ["/kube/api/v1/proxy/namespaces/a/pods/b", 403],
    ["/kube/api/v1/proxy/nodes/n/metrics", 403],
    ["/kube/api/v1/namespaces/a/pods/b%2Fproxy/x", 400],
    ["/kube/api/v1/namespaces/a%2fb/pods/c/proxy", 400],
    ["/kube/api/v1/nodes/n/pro%2578y", 400],
    ["/kube/api/v1//nodes/n/proxy", 400],
    ["/kube/api/v1/nodes//proxy", 400],
    ["/kube/api//v1/nodes/n/proxy", 400],
    ["/kube/api/v1/x/../nodes/n/proxy", 400],
    ["/kube/api/v1/./nodes/n/proxy", 400],
    ["/kube/api/v1/nodes/n/proxy%00", 400],
    ["/kube/api/v1/../../metrics", 400],
    ["/kube/api/%2e%2e/%2e%2e/metrics", 400],
    ["/kube/metrics", 400],
    ["/kube//evil.example/api", 400],
    ["/kube/api/%zz", 400],
    ["/runtime/sandboxes/default/web/8000/", 400],
    ["/runtime//evil.example/", 400],
    ["/runtime/%zz", 400],
  ] as const)("the path %s", async ([path, status]) => {
    const world = await start();
    const before = world.api.received.length + world.router.received.length;
    expect((await ask(world.dashboard, path, { headers: full(world) })).status).toBe(status);
    expect(world.api.received.length + world.router.received.length).toBe(before);
  });

  test("no object with the name proxy", async () => {
    const world = await start();
    for (const path of [
      "/api/v1/namespaces/proxy",
      "/api/v1/namespaces/proxy/pods",
      "/api/v1/namespaces/proxy/pods/proxy",
      "/api/v1/namespaces/proxy/pods/proxy/log",
      "/api/v1/namespaces/nodes/pods/proxy",
      "/api/v1/namespaces/pods/services/proxy/status",
      "/api/v1/nodes/proxy",
      "/apis/",
      "/apis/agents.x-k8s.io/v1beta1/namespaces/proxy/sandboxes",
      "/apis/agents.x-k8s.io/v1beta1/namespaces/pods/sandboxes/proxy",
      "/apis/agents.x-k8s.io/v1beta1/namespaces/proxy/sandboxes/proxy/status?fieldManager=proxy",
      "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/a/sandboxwarmpools/pro%78y/scale",
      "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
    ]) {
      expect((await ask(world.dashboard, `/kube${path}`, { headers: full(world) })).status).toBe(200);
      expect(world.api.received.at(-1)?.url).toBe(path);
    }
  });

  test.for([
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { "sec-fetch-mode": "cors" },
    { "sec-purpose": "prefetch" },
  ] as const)("a login link that another page opens: %j", async (headers) => {
    const { dashboard } = await start();
    const own = { authorization: `Bearer ${userToken}` };
    const { body } = await ask(dashboard, "/logins", { method: "POST", headers: own });
    const { pathname, search } = new URL((JSON.parse(body) as { url: string }).url);
    const refused = await ask(dashboard, pathname + search, { headers: { ...headers } });
    expect([refused.status, refused.headers["set-cookie"]]).toEqual([403, undefined]);
    expect((await ask(dashboard, pathname + search)).status).toBe(303);
  });

  test("pages that ask for a login link, and large bodies", async () => {
    const { dashboard } = await start();
    const headers = { authorization: `Bearer ${userToken}` };
    const post = (more: object, body = ""): Promise<Reply> =>
      ask(dashboard, "/logins", { method: "POST", headers: { ...headers, ...more }, body });
    expect((await post({ origin: "http://evil.example" })).status).toBe(403);
    expect((await post({}, `{"namespace":"${"x".repeat(5000)}"}`)).status).toBe(413);
    expect((await post({}, "[")).status).toBe(400);
  });

  test("WebSockets of other pages, and those without the request token", async () => {
    const world = await start();
    const { host, port } = new URL(world.dashboard.url);
    const open = (headers: Record<string, string>, first: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = new WebSocket(`ws://127.0.0.1:${port}/streams`, { headers: { host, ...headers } });
        socket.on("open", () => socket.send(first));
        socket.on("message", (data: Buffer) => resolve(data.toString()));
        socket.on("unexpected-response", (_request, response) => resolve(String(response.statusCode)));
        socket.on("close", (code) => resolve(String(code)));
        socket.on("error", () => undefined);
      });
    const { cookie, requestToken } = world.user;
    const token = JSON.stringify({ token: requestToken });
    expect(await open({ cookie, origin: "http://evil.example" }, token)).toBe("403");
    expect(await open({ cookie }, token)).toBe("403");
    expect(await open({ origin: `http://${host}` }, token)).toBe("403");
    expect(await open({ cookie, origin: `http://${host}` }, JSON.stringify({ open: 1, path: "/api/v1/pods" }))).toBe(
      "4400",
    );
  });
});

test("what a sandbox answers is data without cookies, redirects and policies of its own", async () => {
  const world = await start();
  const { headers } = await ask(world.dashboard, "/runtime/v1/files/page.html", { headers: full(world) });
  expect(headers).toMatchObject({
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "content-disposition": "attachment",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "x-sandbox-reason": "Refused",
  });
  for (const name of ["set-cookie", "location", "access-control-allow-origin", "clear-site-data"]) {
    expect(headers[name]).toBeUndefined();
  }
});

test("the plain address leads to the dashboard's own host name", async () => {
  const { dashboard } = await start();
  const { host, port } = new URL(dashboard.url);
  const { status, headers } = await ask(dashboard, "//evil.example/x", { headers: { host: `localhost:${port}` } });
  expect([status, headers.location]).toEqual([302, `http://${host}/evil.example/x`]);
});
