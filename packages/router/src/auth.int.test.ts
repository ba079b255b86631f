import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import type { Socket } from "node:net";
import { type Sandbox, sandboxes } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type SigningKey, signingKey } from "./auth/keyring.ts";
import { mintV1 } from "./auth/scoped-token.ts";
import { secrets } from "./cluster/resources.ts";
import { ask, type ResponseWriter, type Served, TestCluster, toSandbox } from "./cluster.test.support.ts";
import type { Router } from "./start-router.ts";

const cluster = new TestCluster();
const key = signingKey("k".repeat(32)) as SigningKey;
const known =
  "v1.eyJucyI6ImRlZmF1bHQiLCJuYW1lIjoiYm94LWEiLCJleHAiOjQxMDI0NDQ4MDB9.8FlrlboX6YfA-FhkloiVsdQTtiK_pi0-OADxIbS5jwI";
let router: Router;
let pod: Served;
let boxA: Sandbox;

beforeAll(async () => {
  pod = await cluster.serve((request, response) => response.end(JSON.stringify(request.headers)));
  boxA = await cluster.sandbox("box-a");
  await cluster.pod(boxA, pod.ip);
  await cluster.pod(await cluster.sandbox("box-b"), pod.ip);
  cluster.users.set("alice-token", { username: "alice", mayConnect: ["default/box-a", "default/ghost"] });
  cluster.users.set("bob-token", { username: "bob", mayConnect: ["default/box-b"] });
  router = await cluster.router({ auth: { keys: [key] } });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const as = (bearer: string | undefined, name = "box-a", more: Record<string, string> = {}): Promise<ResponseWriter> =>
  ask(
    router,
    "/",
    toSandbox(name, pod.port, { ...(bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` }), ...more }),
  );

async function told(answering: Promise<ResponseWriter>): Promise<unknown[]> {
  const { status, text } = await answering;
  return status === 200 ? [200] : [status, text];
}

const unauthenticated = [401, '{"detail":"unauthenticated"}'];
const forbidden = [403, '{"detail":"forbidden"}'];

describe("by default", () => {
  test("refuses requests without a valid credential", async () => {
    const closed = await cluster.router({ auth: {} });
    expect(await told(ask(closed, "/", toSandbox("box-a", pod.port)))).toEqual(unauthenticated);
    expect(await told(as("nobody"))).toEqual(unauthenticated);
    expect(await told(as(undefined, "box-a", { Authorization: "Basic YTpi" }))).toEqual(unauthenticated);
    expect(await told(as(""))).toEqual(unauthenticated);
  });

  test("allows a user only the sandboxes they may connect to", async () => {
    expect(await told(as("alice-token"))).toEqual([200]);
    expect(await told(as("alice-token", "box-b"))).toEqual(forbidden);
    expect(await told(as("bob-token", "box-b", { Authorization: "bEaReR  bob-token " }))).toEqual([200]);
  });

  test("does not reveal whether a sandbox exists to callers without access", async () => {
    expect(await told(as("bob-token", "ghost"))).toEqual(forbidden);
    expect((await as("alice-token", "ghost")).status).toBe(404);
  });

  test("asks the API server once for many requests", async () => {
    cluster.users.set("carol-token", { username: "carol", mayConnect: ["default/box-a"] });
    const before = cluster.reviews.length;
    await Promise.all(Array.from({ length: 20 }, () => as("carol-token")));
    await as("carol-token");
    expect(cluster.reviews.length - before).toBe(2);
  });

  test("accepts only tokens with its audience", async () => {
    const picky = await cluster.router({ auth: { tokenReview: { audiences: ["sandbox-router"] } } });
    const answer = await ask(picky, "/", toSandbox("box-a", pod.port, { Authorization: "Bearer alice-token" }));
    expect([answer.status, JSON.stringify(cluster.reviews.at(-2)?.body)]).toEqual([
      200,
      expect.stringContaining("sandbox-router"),
    ]);
  });

  test("refuses requests while the API server is unreachable, without revealing details", async () => {
    const transport = cluster.transport();
    const { createClient } = await import("@agent-sandbox/kube");
    const deaf = await cluster.router({
      auth: {},
      client: createClient({
        ...transport,
        send: (call) =>
          call.path.includes("tokenreviews") ? Promise.reject(new Error("secret detail")) : transport.send(call),
      }),
    });
    const { status, text } = await ask(
      deaf,
      "/",
      toSandbox("box-a", pod.port, { Authorization: "Bearer alice-token" }),
    );
    expect([status, text.includes("secret")]).toEqual([500, false]);
  });

  test("does not forward the credential to the sandbox", async () => {
    expect((await as("alice-token")).text).not.toContain("alice-token");
  });
});

describe("a credential that is the router's alone", () => {
  const [good, forged] = ["Bearer alice-token", "Bearer forged"];
  const whole = (): string => `http://${pod.port}-box-a.default.localhost/`;
  const asked = async (path: string, headers: Record<string, string>): Promise<unknown[]> => {
    const { status, text } = await ask(router, path, { headers });
    return status === 200 ? [200, (JSON.parse(text) as { authorization?: string }).authorization] : [status];
  };
  const named = (headers: Record<string, string>) => toSandbox("box-a", pod.port, headers).headers;

  test.for([
    [
      "X-Sandbox-Authorization before Authorization, which goes on",
      { "X-Sandbox-Authorization": good, Authorization: "Basic app" },
      [200, "Basic app"],
    ],
    [
      "nothing else once X-Sandbox-Authorization is there",
      { "X-Sandbox-Authorization": forged, Authorization: good },
      [401],
    ],
    ["not even when that is of no use", { "X-Sandbox-Authorization": "", Authorization: good }, [401]],
    ["no Proxy-Authorization on a request that is for no proxy", { "Proxy-Authorization": good }, [401]],
    [
      "Authorization as if that were not there",
      { "Proxy-Authorization": forged, Authorization: good },
      [200, undefined],
    ],
  ] as const)("counts: %s", async ([, headers, expected]) => {
    expect(await asked("/", named(headers))).toEqual(expected);
  });

  test.for([
    [
      "Proxy-Authorization before Authorization, which goes on",
      { "Proxy-Authorization": good, Authorization: "Basic app" },
      [200, "Basic app"],
    ],
    ["nothing else once that is there", { "Proxy-Authorization": forged, Authorization: good }, [401]],
    ["Authorization when that is not there", { Authorization: good }, [200, undefined]],
  ] as const)("counts to one who takes the router for a proxy: %s", async ([, headers, expected]) => {
    expect(await asked(whole(), headers)).toEqual(expected);
  });

  test.for([
    [{ "Proxy-Authorization": good }, 200],
    [{ Authorization: good }, 200],
    [{ "Proxy-Authorization": forged, Authorization: good }, 401],
    [{}, 401],
  ] as const)("opens a tunnel with %j: %i", async ([headers, expected]) => {
    const path = `box-a.default.localhost:${pod.port}`;
    const sent = request({ ...router.address, method: "CONNECT", path, headers, agent: false }).end();
    const [{ statusCode }, socket] = (await once(sent, "connect")) as [IncomingMessage, Socket];
    socket.destroy();
    expect(statusCode).toBe(expected);
  });
});

describe("a scoped token", () => {
  test("gives access to its sandbox", async () => {
    expect(await told(as(known))).toEqual([200]);
  });

  test.for([
    ["another sandbox", () => as(known, "box-b"), forbidden],
    ["another namespace", () => as(known, "box-a", { "X-Sandbox-Namespace": "other" }), forbidden],
    ["an address", () => as(known, "box-a", { "X-Sandbox-Pod-IP": "10.0.0.1" }), forbidden],
    ["a UID", () => as(known, "box-a", { "X-Sandbox-UID": boxA.metadata.uid ?? "" }), forbidden],
    ["no version", () => as(known.slice(3)), unauthenticated],
    [
      "another key",
      () => as(mintV1({ ns: "default", name: "box-a", exp: 4_102_444_800 }, signingKey("x".repeat(32)) as SigningKey)),
      unauthenticated,
    ],
    [
      "a second that has passed",
      () => as(mintV1({ ns: "default", name: "box-a", exp: Math.floor(Date.now() / 1000) }, key)),
      unauthenticated,
    ],
  ] as const)("opens nothing with %s", async ([, asking, expected]) => {
    expect(await told(asking())).toEqual(expected);
  });

  const mint = (bearer: string, body: object = {}, method = "POST"): Promise<ResponseWriter> =>
    ask(router, "/router/v1/namespaces/default/sandboxes/box-a/tokens", {
      method,
      ...(method === "POST" ? { body: JSON.stringify(body) } : {}),
      headers: { Authorization: `Bearer ${bearer}` },
    });
  const minted = async (body: object = {}): Promise<string> =>
    (JSON.parse((await mint("alice-token", body)).text) as { token: string }).token;

  test("is issued to users who may connect, for the requested ports", async () => {
    const token = await minted({ ports: [pod.port], lifetimeSeconds: 60 });
    expect(await told(as(token))).toEqual([200]);
    const other = await ask(router, "/", toSandbox("box-a", 1, { Authorization: `Bearer ${token}` }));
    expect(other.status).toBe(403);
    expect((await mint("bob-token")).status).toBe(403);
    expect((await mint("nobody")).status).toBe(401);
    expect((await mint(token)).status).toBe(403);
  });

  test.for([
    [{ ports: [0] }],
    [{ ports: [] }],
    [{ ports: "80" }],
    [{ lifetimeSeconds: 0 }],
    [{ lifetimeSeconds: 1e9 }],
    [{ other: 1 }],
    [[]],
  ] as const)("is not minted from %j", async ([body]) => {
    expect((await mint("alice-token", body)).status).toBe(400);
  });

  test("is refused after a revocation, while a newer one is valid", async () => {
    const old = await minted();
    expect((await mint("alice-token", {}, "DELETE")).status).toBe(200);
    await expect.poll(async () => (await as(old)).status).toBe(403);
    await expect.poll(async () => (await as(await minted())).status).toBe(200);
    expect((await as(known)).status).toBe(403);
    const annotations = { "agents.x-k8s.io/tokens-not-before": null };
    await cluster.client.patch(
      sandboxes,
      { namespace: "default", name: "box-a" },
      { type: "merge", body: { metadata: { annotations } } },
    );
    await expect.poll(async () => (await as(known)).status).toBe(200);
  });
});

/** The headers of a browser for a top-level navigation. */
const opened = { "sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };

describe("a browser", () => {
  const host = (): string => `${pod.port}-box-a.default.localhost:${router.address?.port}`;
  const browse = (path: string, headers: Record<string, string> = {}): Promise<ResponseWriter> =>
    ask(router, path, { headers: { host: host(), ...opened, ...headers } });
  const login = async (): Promise<URL> => {
    const body = JSON.stringify({ ports: [pod.port] });
    const headers = { host: `router.example:${router.address?.port}`, Authorization: "Bearer alice-token" };
    const { text } = await ask(router, "/router/v1/namespaces/default/sandboxes/box-a/logins", {
      method: "POST",
      body,
      headers,
    });
    return new URL((JSON.parse(text) as { url: string }).url);
  };

  test("logs in once with a link and then uses its cookie", async () => {
    const url = await login();
    expect(url.host).toBe(host());
    const first = await browse(`${url.pathname}${url.search}&to=%2Fapp`);
    const [cookie = ""] = first.headers["set-cookie"] ?? [];
    expect([first.status, first.headers.location]).toEqual([303, "/app"]);
    expect(cookie).toMatch(/^agent-sandbox-session=s1\..*; Path=\/; Max-Age=28800; HttpOnly; SameSite=Lax$/);
    const [session = ""] = cookie.split(";");
    expect((await browse("/")).status).toBe(401);
    const page = await browse("/", { cookie: `theme=dark; ${session}` });
    expect([page.status, (JSON.parse(page.text) as { cookie: string }).cookie]).toEqual([200, "theme=dark"]);
    const second = await browse(`${url.pathname}${url.search}`);
    expect(second.status).toBe(401);
    // Another port is another host name, and the session is restricted to its port too.
    const elsewhere = async (other: string): Promise<number> =>
      (await ask(router, "/", { headers: { ...opened, host: other, cookie: session } })).status;
    expect(await elsewhere("1-box-a.default.localhost")).toBe(401);
    expect(await elsewhere(`${pod.port}-box-b.default.localhost`)).toBe(401);
    // A cookie is not accepted for sandboxes named by header or path.
    expect((await ask(router, "/", toSandbox("box-a", pod.port, { ...opened, cookie: session }))).status).toBe(401);
    const path = `/sandboxes/default/box-a/${pod.port}/`;
    expect((await ask(router, path, { headers: { ...opened, cookie: session } })).status).toBe(401);
    // The session is not valid as a bearer token.
    expect((await as(session.split("=")[1])).status).toBe(401);
  });

  test("cannot use its cookie for requests of another sandbox's page", async () => {
    const url = await login();
    const { headers } = await browse(`${url.pathname}${url.search}`);
    const cookie = headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
    const neighbour = `http://${pod.port}-evil.default.localhost:${router.address?.port}`;
    const own = `http://${host()}`;
    const ask = async (headers: Record<string, string>): Promise<number> =>
      (await browse("/", { cookie, ...headers })).status;
    expect(await ask({ origin: neighbour })).toBe(401);
    expect(await ask({ origin: "null" })).toBe(401);
    expect(await ask({ "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors" })).toBe(401);
    expect(await ask({ "sec-fetch-site": "same-site", "sec-fetch-dest": "iframe" })).toBe(401);
    expect(await ask({ "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" })).toBe(200);
    expect(await ask({ origin: own, "sec-fetch-site": "same-origin" })).toBe(200);
  });

  test.for([
    ["in a frame", { "sec-fetch-dest": "iframe" }, 403],
    ["by a script", { "sec-fetch-mode": "no-cors", "sec-fetch-dest": "empty" }, 403],
    ["as an image", { "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" }, 403],
  ] as const)("does not log in %s", async ([, headers, expected]) => {
    const url = await login();
    expect((await browse(`${url.pathname}${url.search}`, headers)).status).toBe(expected);
    expect((await browse(`${url.pathname}${url.search}`)).status).toBe(303);
  });

  test("gets an explanation if Sec-Fetch-Site is missing", async () => {
    const url = await login();
    const { status, text } = await ask(router, `${url.pathname}${url.search}`, { headers: { host: host() } });
    expect([status, text]).toEqual([400, expect.stringContaining("HTTPS")]);
  });

  test("is not redirected to another host by a link", async () => {
    for (const to of ["//evil.example", "http://evil.example", "/\\evil.example", "javascript:alert(1)"]) {
      const url = await login();
      const { headers } = await browse(`${url.pathname}${url.search}&to=${encodeURIComponent(to)}`);
      expect(headers.location).toBe("/");
    }
  });
});

describe("the injected runtime", () => {
  test("gets its token from the router on its own ports, and never from a client", async () => {
    const runtime = await cluster.serve((request, response) => response.end(JSON.stringify(request.headers)), {
      port: 8888,
    });
    const sandbox = await cluster.sandbox("injected", { spec: { runtime: "Injected" } });
    await cluster.runtimeToken(sandbox, "runtime-token");
    await cluster.pod(sandbox, runtime.ip);
    const open = await cluster.router();
    const sent = async (port: number) => {
      const { text } = await ask(open, "/", toSandbox("injected", port, { "X-Sandbox-Token": "spoofed" }));
      return (JSON.parse(text) as Record<string, string>)["x-sandbox-token"];
    };
    const other = await cluster.serve((request, response) => response.end(JSON.stringify(request.headers)), {
      ip: runtime.ip,
    });
    expect([await sent(8888), await sent(other.port)]).toEqual(["runtime-token", undefined]);
  });

  test("gets no token from a Secret that its sandbox does not own", async () => {
    const runtime = await cluster.serve((request, response) => response.end(JSON.stringify(request.headers)), {
      port: 8888,
    });
    const sandbox = await cluster.sandbox("mimic", { spec: { runtime: "Injected" } });
    await cluster.client.create(secrets, {
      metadata: { name: "mimic-runtime", namespace: "default" },
      data: { token: "c2VjcmV0" },
    });
    await cluster.pod(sandbox, runtime.ip);
    const open = await cluster.router();
    const { text } = await ask(open, "/", toSandbox("mimic", 8888));
    expect((JSON.parse(text) as Record<string, string>)["x-sandbox-token"]).toBeUndefined();
  });
});

test("limits concurrent requests of a caller", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const slow = await cluster.serve((_, response) => void promise.then(() => response.end()), { ip: pod.ip });
  const strict = await cluster.router({ limits: { perCaller: 2 } });
  const waiting = [1, 2].map(() => ask(strict, "/", toSandbox("box-a", slow.port)));
  await expect.poll(() => strict.metrics()).toMatch(/sandbox_router_inflight_requests 2/);
  const { status, headers } = await ask(strict, "/", toSandbox("box-b", slow.port));
  resolve();
  expect([status, headers["x-sandbox-reason"]]).toEqual([429, "CallerLimit"]);
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200]);
});
