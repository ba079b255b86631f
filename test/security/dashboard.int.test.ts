import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sandboxes } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { type Address, type Answer, ask, jsonOf } from "../data-plane/ask.ts";
import { answering, hostileServer } from "./hostile-server.ts";
import type { Tenant } from "./tenant.ts";
import { noWorld } from "./why-no-world.ts";
import { enterWorld, type World } from "./world.ts";

/** What a browser has after a login, and what a thief of it has. */
interface Session {
  readonly cookie: string;
  readonly requestToken: string;
}

const name = "dashboard.agent-sandbox-system.localhost";

/** Attackers of the listener of the dashboard: other tenants, pages of sandboxes, users of the machine. */
describe.skipIf(noWorld)("an attacker of the dashboard", { timeout: 120_000 }, () => {
  let world: World;
  let listener: Address;
  let mallory: Tenant;
  let bob: Tenant;

  beforeAll(async () => {
    world = await enterWorld();
    const record = JSON.parse(readFileSync(join(world.box.dataDir, "box.json"), "utf8")) as { dashboardUrl: string };
    const { hostname, port } = new URL(record.dashboardUrl);
    listener = { host: hostname, port: Number(port) };
    [mallory, bob] = await Promise.all([world.tenant(), world.tenant("bob")]);
    await Promise.all([hostileServer.start(mallory, "web"), bob.createSandbox("web")]);
  }, 180_000);
  afterAll(async () => {
    await mallory?.client.delete(sandboxes, { namespace: mallory.namespace, name: "web" });
    await bob?.client.delete(sandboxes, { namespace: bob.namespace, name: "web" });
    for (const each of [mallory, bob, world]) await each?.[Symbol.asyncDispose]();
  });

  const own = (): Record<string, string> => ({ host: `${name}:${listener.port}` });
  const get = (target: string, headers: Record<string, string | undefined> = {}): Promise<Answer> => {
    const sent = Object.entries({ ...own(), ...headers }).filter(([, value]) => value !== undefined);
    return ask(listener, target, { headers: Object.fromEntries(sent) });
  };
  const full = ({ cookie, requestToken }: Session): Record<string, string> => ({
    cookie,
    authorization: `Bearer ${requestToken}`,
  });

  async function linkOf({ account, namespace }: Tenant): Promise<URL> {
    const headers = { ...own(), authorization: `Bearer ${account.token}` };
    const made = await ask(listener, "/logins", { method: "POST", headers, body: JSON.stringify({ namespace }) });
    expect(made.status).toBe(201);
    return new URL(jsonOf<{ url: string }>(made).url);
  }

  async function logIn(tenant: Tenant): Promise<Session> {
    const { pathname, search } = await linkOf(tenant);
    const answer = await get(`${pathname}${search}`);
    const [cookie = ""] = answer.headers["set-cookie"]?.[0]?.split(";") ?? [];
    const { requestToken } = jsonOf<{ requestToken: string }>(await get("/session", { cookie }));
    return { cookie, requestToken };
  }

  const secretsOf = ({ namespace }: Tenant): string => `/kube/api/v1/namespaces/${namespace}/secrets`;

  test("has in a session the rights of its user, and no others", async () => {
    const session = full(await logIn(mallory));
    expect((await get(secretsOf(mallory), session)).status).toBe(200);
    const raised = { "impersonate-user": "admin", "impersonate-group": "system:masters", "x-remote-user": "admin" };
    for (const more of [{}, raised]) {
      expect((await get(secretsOf(bob), { ...session, ...more })).status).toBe(403);
      expect((await get("/kube/api/v1/secrets", { ...session, ...more })).status).toBe(403);
    }
    const headers = { ...session, "x-sandbox-id": "web", "x-sandbox-namespace": bob.namespace };
    expect([401, 403, 404]).toContain((await get("/runtime/v1/files/etc/passwd", headers)).status);
    for (const path of ["/agent-sandbox/backup", "/metrics", "/api/v1/nodes/x/proxy/metrics"]) {
      expect([400, 403]).toContain((await get(`/kube${path}`, session)).status);
    }
    // The user may read the Pod, but a page of it would have the dashboard's origin.
    const pod = `/kube/api/v1/namespaces/${mallory.namespace}/pods/web`;
    expect((await get(pod, session)).status).toBe(200);
    for (const end of ["/proxy/", "/%70roxy/", "/PROXY/", "%2fproxy/", "//proxy/", "/./proxy/", "/proxy"]) {
      expect([end, (await get(pod + end, session)).status]).toEqual([end, expect.toBeOneOf([400, 403])]);
    }
  });

  test("with a cookie that was stolen has nothing after the logout", async () => {
    const victim = await logIn(bob);
    expect((await get(secretsOf(bob), full(victim))).status).toBe(200);
    const stream = openStreams(victim.cookie);
    await once(stream, "open");
    stream.send(JSON.stringify({ token: victim.requestToken }));
    stream.send(JSON.stringify({ open: 1, path: `${secretsOf(bob).slice("/kube".length)}?watch=1` }));
    await once(stream, "message");
    const closed = once(stream, "close");
    const headers = { ...own(), ...full(victim) };
    expect((await ask(listener, "/logout", { method: "POST", headers })).status).toBe(204);
    expect((await closed)[0]).toBe(4401);
    expect((await get("/session", { cookie: victim.cookie })).status).toBe(401);
    expect((await get(secretsOf(bob), full(victim))).status).toBe(401);
    expect(await refusal(openStreams(victim.cookie))).toBe(403);
  });

  test("has over the WebSocket of the page the rights of its user, and no others", async () => {
    const { cookie, requestToken } = await logIn(mallory);
    const config = { command: ["id", "-u"] };
    const message = Buffer.from(JSON.stringify({ config }));
    const envelope = Buffer.concat([Buffer.alloc(5), message]);
    envelope.writeUInt32BE(message.length, 1);
    const place = { "x-sandbox-id": "web", "x-sandbox-namespace": bob.namespace, "x-sandbox-port": "9090" };
    const headers = { ...place, "content-type": "application/connect+json", "connect-protocol-version": "1" };
    const runtime = { path: "/process.v1.ProcessService/Start", headers, body: envelope.toString("base64") };
    const firstAnswer = async (first: object, call: object): Promise<Record<string, unknown>> => {
      const stream = openStreams(cookie);
      await once(stream, "open");
      const answer = once(stream, "message").then(([data]) => JSON.parse(String(data)) as Record<string, unknown>);
      const closed = once(stream, "close").then(([code]) => ({ code: code as number }));
      stream.send(JSON.stringify(first));
      stream.send(JSON.stringify(call));
      const got = await Promise.race([answer, closed]);
      stream.terminate();
      return got;
    };
    expect(await firstAnswer({ open: 1, runtime }, {})).toEqual({ code: 4400 });
    expect(await firstAnswer({ token: "x".repeat(requestToken.length) }, {})).toEqual({ code: 4400 });
    const token = { token: requestToken };
    const raised = { "impersonate-user": "admin", "impersonate-group": "system:masters", authorization: "Bearer x" };
    for (const more of [{}, raised]) {
      const call = { open: 1, runtime: { ...runtime, headers: { ...headers, ...more } } };
      expect([401, 403, 404]).toContain((await firstAnswer(token, call))["status"]);
    }
    const elsewhere = { ...runtime, path: `/sandboxes/${bob.namespace}/web/9090/process.v1.ProcessService/Start` };
    expect(await firstAnswer(token, { open: 1, runtime: elsewhere })).toEqual({
      id: 1,
      end: true,
      message: "The path is not one of the router",
    });
    expect((await firstAnswer(token, { open: 1, path: secretsOf(bob).slice("/kube".length) }))["status"]).toBe(403);
  });

  test("cannot log the user in as somebody else, and cannot use a link a second time", async () => {
    const { pathname, search } = await linkOf(mallory);
    for (const site of ["cross-site", "same-site"]) {
      const answer = await get(`${pathname}${search}`, { "sec-fetch-site": site, "sec-fetch-mode": "navigate" });
      expect([answer.status, answer.headers["set-cookie"]]).toEqual([403, undefined]);
    }
    expect((await get(`${pathname}${search}`)).status).toBe(303);
    expect((await get(`${pathname}${search}`)).headers["set-cookie"]).toBeUndefined();
  });

  test("with a page of a sandbox cannot use the session of its visitor", async () => {
    const session = full(await logIn(bob));
    const router = world.router.port;
    const origins = [`http://8000-web.${mallory.namespace}.localhost:${router}`, `http://127.0.0.1:${router}`, "null"];
    for (const origin of origins) {
      for (const method of ["GET", "POST", "OPTIONS", "DELETE"]) {
        const answer = await ask(listener, secretsOf(bob), { method, headers: { ...own(), ...session, origin } });
        expect([method, answer.status]).toEqual([method, 403]);
        expect(Object.keys(answer.headers).filter((header) => header.startsWith("access-control"))).toEqual([]);
      }
      expect(await refusal(openStreams(session["cookie"] ?? "", origin))).toBe(403);
    }
    const withoutToken = await get(secretsOf(bob), { cookie: session["cookie"], "sec-fetch-site": "same-origin" });
    expect(withoutToken.status).toBe(403);
  });

  test("whose name resolves to this machine gets nothing", async () => {
    const session = full(await logIn(bob));
    const hosts = [
      "evil.example",
      `8000-web.${mallory.namespace}.localhost`,
      `x.${name}`,
      `${name}.`,
      "dashboard.localhost",
    ];
    for (const host of hosts.map((each) => `${each}:${listener.port}`).concat(name, `${name}:80`)) {
      for (const path of ["/", "/session", "/login?code=x", secretsOf(bob)]) {
        const answer = await get(path, { ...session, host });
        expect([host, path, answer.status, answer.headers["set-cookie"]]).toEqual([host, path, 421, undefined]);
      }
    }
    expect((await get(secretsOf(bob), { ...session, host: `localhost:${listener.port}` })).status).not.toBe(200);
  });

  test("cannot get a sandbox with the name of the dashboard", async () => {
    const place = { namespace: "agent-sandbox-system", name: "dashboard" };
    const spec = { podTemplate: { spec: { containers: [{ name: "main", image: "host" }] } } };
    await expect(mallory.client.create(sandboxes, { metadata: place, spec } as never)).rejects.toMatchObject({
      code: 403,
    });
  });

  test("cannot put any answer into a frame, and no answer runs", async () => {
    const session = full(await logIn(bob));
    for (const path of ["/", "/nowhere", "/session", "/login?code=x", "/kube/version", "/assets/none.js", "/kube/x"]) {
      const { headers } = await get(path, session);
      expect([path, headers["x-frame-options"], headers["x-content-type-options"]]).toEqual([path, "DENY", "nosniff"]);
      const policy = headers["content-security-policy"] ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
    }
  });

  test("whose sandbox answers its own user with markup, cookies and redirects changes nothing of the page", async () => {
    const session = full(await logIn(mallory));
    const hostile = answering(
      ["Content-Type", "text/html"],
      ["Set-Cookie", "agent-sandbox-dashboard=planted"],
      ["Location", "http://evil.example/"],
      ["Content-Security-Policy", "script-src *"],
      ["Access-Control-Allow-Origin", "*"],
      ["Clear-Site-Data", '"*"'],
    );
    const place = { "x-sandbox-id": "web", "x-sandbox-namespace": mallory.namespace, "x-sandbox-port": "8000" };
    const { status, headers, text } = await get(`/runtime${hostile}`, { ...session, ...place });
    expect(status).toBe(200);
    expect(headers["content-security-policy"]).toBe("default-src 'none'; frame-ancestors 'none'; sandbox");
    expect(headers["content-disposition"]).toBe("attachment");
    const planted = ["set-cookie", "location", "access-control-allow-origin", "clear-site-data"];
    expect(planted.filter((header) => headers[header] !== undefined)).toEqual([]);
    // The text has the headers that the sandbox received.
    expect(text).not.toContain(session["cookie"]?.split("=")[1] ?? "cookie");
    expect(text).not.toContain(mallory.account.token);
  });

  test("in a sandbox does not find the listener", async () => {
    const script = `for host in 127.0.0.1 localhost $(ip route | sed -n 's/^default via \\([0-9.]*\\).*/\\1/p'); do
      python3 -c 'import socket,sys; socket.create_connection((sys.argv[1], ${listener.port}), 2); print("open")' $host 2>/dev/null
    done; echo done`;
    expect(await mallory.shell("web", script)).toBe("done");
  });

  test("on the machine cannot read the sessions, and gets nothing without a token", async () => {
    await logIn(bob);
    const file = join(world.box.dataDir, "dashboard-sessions.json");
    expect(readFileSync(file, "utf8")).toContain(bob.account.token);
    expect((await world.machine.runAsNobody("cat", file)).code).not.toBe(0);
    const asked = await world.machine.runAsNobody(
      "curl",
      "-s",
      "-X",
      "POST",
      `http://127.0.0.1:${listener.port}/logins`,
    );
    expect(asked.stdout).toContain('"code":401');
  });

  test("who logs in again and again ends only sessions of that user, and leaves others their share", async () => {
    const [victim, eve] = [await logIn(bob), await world.tenant("eve")];
    await using _eve = eve;
    const sessions: Session[] = [];
    for (let i = 0; i < 33; i += 1) sessions.push(await logIn(eve));
    const [first, second] = sessions.map(({ cookie }) => ({ cookie }));
    expect([(await get("/session", first)).status, (await get("/session", second)).status]).toEqual([401, 200]);
    const headers = { ...own(), authorization: `Bearer ${eve.account.token}` };
    const made: number[] = [];
    for (let i = 0; i < 30; i += 1) made.push((await ask(listener, "/logins", { method: "POST", headers })).status);
    expect([made.indexOf(429), made.lastIndexOf(201)]).toEqual([27, 26]);
    const sockets = Array.from({ length: 70 }, (_, index) => openStreams(sessions[20 + (index % 10)]?.cookie ?? ""));
    const opened = await Promise.all(
      sockets.map((socket) => Promise.race([once(socket, "open").then(() => 101), refusal(socket)])),
    );
    expect([101, 429].map((status) => opened.filter((each) => each === status).length)).toEqual([64, 6]);
    const stream = openStreams(victim.cookie);
    await once(stream, "open");
    for (const socket of [stream, ...sockets]) socket.terminate();
    expect((await get(secretsOf(bob), full(victim))).status).toBe(200);
    await logIn(bob);
  });

  const streamsUrl = (): string => `ws://127.0.0.1:${listener.port}/streams`;
  function openStreams(cookie: string, origin = `http://${own()["host"]}`): WebSocket {
    return new WebSocket(streamsUrl(), { headers: { ...own(), cookie, origin } });
  }

  async function refusal(socket: WebSocket): Promise<number | undefined> {
    const [, response] = (await once(socket, "unexpected-response")) as [unknown, { statusCode?: number }];
    socket.on("error", () => undefined);
    socket.terminate();
    return response.statusCode;
  }
});
