import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Sandbox, sandboxes, sandboxNameHashLabel } from "@agent-sandbox/api";
import type { Resource } from "@agent-sandbox/kube";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask, jsonOf } from "../data-plane/ask.ts";
import { answering, hostileServer } from "./hostile-server.ts";
import { pods, type Tenant } from "./tenant.ts";
import { Victim } from "./victim.ts";
import { noWorld } from "./why-no-world.ts";
import { enterWorld, tokenOf, type World } from "./world.ts";

const serviceAccounts: Resource = {
  apiVersion: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  namespaced: true,
};

/** Callers of the router without a token, with an expired or forged one, and with another tenant's. */
describe.skipIf(noWorld)("a caller of the router", () => {
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

  const mint = async (body: object, sandbox = "web"): Promise<{ token: string }> => {
    const path = `/router/v1/namespaces/${mallory.namespace}/sandboxes/${sandbox}/tokens`;
    const headers = { Authorization: `Bearer ${mallory.account.token}` };
    return jsonOf(await ask(world.router, path, { method: "POST", body: JSON.stringify(body), headers }));
  };
  /** The status of a CONNECT request, which the router answers without the sandbox. */
  const tunnel = async (path: string, headers: Record<string, string>): Promise<number | undefined> => {
    const sent = request({ ...world.router, method: "CONNECT", path, headers, agent: false }).end();
    const [{ statusCode }, socket] = (await once(sent, "connect")) as [IncomingMessage, Socket];
    socket.destroy();
    return statusCode;
  };

  test("cannot reach another tenant's sandbox with no token, an expired one, a forged one or its own", async () => {
    const { token: scoped } = await mint({ lifetimeSeconds: 60 });
    const { token: expired } = await mint({ lifetimeSeconds: 1 });
    await sleep(1000);
    const [version = "", id = "", payload = "", signature = ""] = scoped.split(".");
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as object;
    const foreign = { ...claims, ns: "alice", uid: world.alice.record.uids["web"] };
    const forged = [version, id, Buffer.from(JSON.stringify(foreign)).toString("base64url"), signature].join(".");
    const credentials = { none: "", expired, forged, scoped, own: mallory.account.token };
    // A token may also be the password of Basic.
    const spellings = Object.entries(credentials).flatMap(([what, token]) => [
      { what, headers: token === "" ? {} : { Authorization: `Bearer ${token}` } },
      { what, headers: { Authorization: `Basic ${Buffer.from(`alice:${token}`).toString("base64")}` } },
    ]);
    const answers = spellings.flatMap(({ what, headers }) => {
      const byHeader = { "X-Sandbox-ID": "web", "X-Sandbox-Namespace": "alice", "X-Sandbox-Port": "8000" };
      const uid = { "X-Sandbox-UID": world.alice.record.uids["web"] ?? "" };
      const address = { "X-Sandbox-Pod-IP": world.alice.record.pods["web"]?.address ?? "" };
      const own = { "X-Sandbox-ID": "web", "X-Sandbox-Namespace": mallory.namespace, "X-Sandbox-Port": "8000" };
      const get = async (target: string, more: Record<string, string>): Promise<string> => {
        const { status, text } = await ask(world.router, target, { headers: { ...headers, ...more } });
        return text.includes(world.alice.secret) ? `${what}: read the secret` : `${what}: ${status}`;
      };
      return [
        get("/diary", byHeader),
        get("/diary", { ...byHeader, ...uid }),
        get("/diary", { ...byHeader, ...address }),
        get("/diary", { host: "8000-web.alice.localhost" }),
        get("/diary", { host: "8000-web.alice.localhost.", "X-Forwarded-Host": "evil" }),
        get("http://8000-web.alice.localhost/diary", {}),
        get("/sandboxes/alice/web/8000/diary", {}),
        get("/diary", { ...own, ...uid }).then((told) => told.replace("404", "403")),
        tunnel("web.alice.localhost:8000", headers).then((status) => `${what}: ${status}`),
        tunnel("x:8000", { ...headers, ...byHeader }).then((status) => `${what}: ${status}`),
      ];
    });
    const refused = ["none: 401", "expired: 401", "forged: 401", "scoped: 403", "own: 403"];
    expect(new Set(await Promise.all(answers))).toEqual(new Set(refused));
    expect(await world.alice.harm()).toEqual([]);
  });

  test("does not learn whether another tenant's sandbox exists", async () => {
    const told = async (name: string, headers: Record<string, string>): Promise<unknown> => {
      const { status, text } = await mallory.ask(name, 8000, "/", { namespace: "alice", headers });
      const tokens = `/router/v1/namespaces/alice/sandboxes/${name}/tokens`;
      const own = await ask(world.router, tokens, { method: "POST", headers });
      return [status, text, own.status, own.text];
    };
    for (const token of ["forged", mallory.account.token]) {
      const headers = { Authorization: `Bearer ${token}` };
      expect(await told("web", headers)).toEqual(await told("ghost", headers));
    }
  });

  test("cannot connect to the address of another tenant's Pod or of the machine", async () => {
    const address = world.alice.record.pods["web"]?.address ?? "";
    for (const ip of [address, "127.0.0.1", "::ffff:127.0.0.1", "169.254.169.254", "localhost", "0.0.0.0"]) {
      const { status, text } = await mallory.ask("web", 8000, "/diary", { headers: { "X-Sandbox-Pod-IP": ip } });
      const isOwn = status === 200 && text.includes('"headers"');
      expect([ip, isOwn || status === 400, text.includes(world.alice.secret)]).toEqual([ip, true, false]);
    }
  });

  test("gets no traffic of another tenant's sandbox with a Pod that names it as its owner", async () => {
    const uid = world.alice.record.uids["web"] ?? "";
    const labels = { [sandboxNameHashLabel]: "forged" };
    const owner = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: "web", uid, controller: true };
    const metadata = { namespace: mallory.namespace, name: "impostor", labels, ownerReferences: [owner] };
    const spec = { containers: [{ name: "main", image: "host", command: ["sleep", "infinity"] }] };
    const made = await mallory.client.create(pods, { metadata, spec }).then(
      () => "created",
      () => "refused",
    );
    const status = { podIP: world.alice.record.pods["web"]?.address };
    const path = `/api/v1/namespaces/${mallory.namespace}/pods/web/status`;
    const patch = await mallory.request("PATCH", path, { status }, { "content-type": "application/merge-patch+json" });
    expect([made, patch.status]).toEqual(["refused", 403]);
    expect(await world.alice.harm()).toEqual([]);
  });

  test("cannot wake another tenant's sandbox", async () => {
    const sleeper = await world.tenant("sleeper");
    await sleeper.createSandbox("asleep", {}, { operatingMode: "Suspended", resumePolicy: "OnTraffic" });
    const key = { namespace: sleeper.namespace, name: "asleep" };
    for (const headers of [{}, { Authorization: "Bearer forged" }]) {
      const { status } = await mallory.ask("asleep", 8000, "/", { namespace: sleeper.namespace, headers });
      expect([401, 403]).toContain(status);
    }
    const { metadata, spec }: Sandbox = await sleeper.client.get(sandboxes, key);
    expect([spec.operatingMode, metadata.annotations?.["agents.x-k8s.io/last-activity"]]).toEqual([
      "Suspended",
      undefined,
    ]);
    await sleeper.client.delete(sandboxes, key);
    await sleeper[Symbol.asyncDispose]();
  });

  test("cannot create a session that outlasts or exceeds its token", async () => {
    const { token } = await mint({ lifetimeSeconds: 2, ports: [8000] });
    const ends = Date.now() + 2000;
    const login = async (ports: number[], sandbox = "web", namespace = mallory.namespace) => {
      const path = `/router/v1/namespaces/${namespace}/sandboxes/${sandbox}/logins`;
      const headers = { Authorization: `Bearer ${token}` };
      return ask(world.router, path, { method: "POST", body: JSON.stringify({ ports }), headers });
    };
    expect([(await login([8888])).status, (await login([8000], "web", "alice")).status]).toEqual([403, 403]);
    const { pathname, search } = new URL(jsonOf<{ url: string }>(await login([8000])).url);
    const opened = { "sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    const browse = (target: string, headers: Record<string, string> = {}) =>
      ask(world.router, target, {
        headers: { ...opened, host: `8000-web.${mallory.namespace}.localhost`, ...headers },
      });
    const cookie = (await browse(`${pathname}${search}`)).headers["set-cookie"]?.[0] ?? "";
    const [session = ""] = cookie.split(";");
    const before = (await browse("/", { cookie: session })).status;
    await sleep(ends - Date.now());
    expect([before, (await browse("/", { cookie: session })).status]).toEqual([200, 401]);
    // A scoped token cannot be used to create another one.
    const path = `/router/v1/namespaces/${mallory.namespace}/sandboxes/web/tokens`;
    const { token: other } = await mint({ lifetimeSeconds: 60 });
    const again = await ask(world.router, path, { method: "POST", headers: { Authorization: `Bearer ${other}` } });
    expect(again.status).toBe(403);
  });

  test("cannot use a token for another audience", async () => {
    await mallory.create(serviceAccounts, "visitor", {});
    const statusWith = async (spec: object): Promise<number> => {
      const token = await tokenOf(mallory, mallory.namespace, "visitor", spec);
      return (await mallory.ask("web", 8000, "/", { headers: { Authorization: `Bearer ${token}` } })).status;
    };
    // The first token is valid but its account may not connect. The second is for another audience.
    expect([await statusWith({}), await statusWith({ audiences: ["somebody-else"] })]).toEqual([403, 401]);
  });

  test("cannot send headers that a sandbox would attribute to the router", async () => {
    const planted = {
      "X-Sandbox-Token": "planted",
      X_Sandbox_Token: "planted",
      "X-Sandbox-UID": "planted",
      "X-Forwarded-For": "planted",
      X_Forwarded_For: "planted",
      "X-Forwarded-Client-Cert": "planted",
      "X-Real-IP": "planted",
      X_Real_IP: "planted",
      Forwarded: "for=planted",
      "Proxy-Authorization": "Bearer planted",
      Cookie: "a=1; agent-sandbox-session=planted; __Host-agent-sandbox-session=planted",
    };
    const { "X-Sandbox-UID": _, ...allowed } = planted;
    const { text } = await mallory.ask("web", 8000, "/", { headers: allowed });
    expect([text.includes("planted"), text.includes(mallory.account.token), text.includes("a=1")]).toEqual([
      false,
      false,
      true,
    ]);
  });

  test("does not delay others with requests for a sandbox that is never ready", async () => {
    const readinessProbe = { exec: { command: ["false"] } };
    const containers = [{ name: "main", image: "host", command: ["sleep", "infinity"], readinessProbe }];
    await mallory.createSandbox("never", { spec: { containers } });
    const ending = new AbortController();
    let answered = 0;
    const waiting = Array.from({ length: 300 }, () =>
      mallory.ask("never", 8000, "/", { signal: ending.signal }).then(
        () => void (answered += 1),
        () => undefined,
      ),
    );
    try {
      expect(await world.alice.ask("web", Victim.port, "/diary")).toMatchObject({ status: 200 });
      expect(answered).toBe(0);
    } finally {
      ending.abort();
      await Promise.all(waiting);
      await mallory.client.delete(sandboxes, { namespace: mallory.namespace, name: "never" });
    }
  });

  test("cannot affect other host names with responses of its own sandbox", async () => {
    const target = answering(
      ["Set-Cookie", "a=1; Domain=localhost; Path=/"],
      ["Set-Cookie", " agent-sandbox-session =x"],
      ["Set-Cookie", "=__Host-agent-sandbox-session=x"],
      ["Clear-Site-Data", '"*"'],
      ["Alt-Svc", 'h2="evil.example:443"'],
      ["Strict-Transport-Security", "max-age=1; includeSubDomains"],
      ["Service-Worker-Allowed", "/"],
      ["Access-Control-Allow-Origin", "*"],
    );
    const headers = { Authorization: `Bearer ${mallory.account.token}` };
    const host = `8000-web.${mallory.namespace}.localhost`;
    const byHost = await ask(world.router, target, { headers: { ...headers, host } });
    expect(byHost.headers).toMatchObject({
      "set-cookie": ["a=1; Path=/"],
      "clear-site-data": '"cache", "storage", "executionContexts"',
    });
    expect(byHost.headers).not.toHaveProperty("alt-svc");
    const prefix = `/sandboxes/${mallory.namespace}/web/8000`;
    const byPath = await ask(world.router, `${prefix}${target}`, { headers });
    expect(byPath.headers["set-cookie"]).toEqual([`a=1; Path=${prefix}`]);
    expect(byPath.headers["content-security-policy"]).toMatch(/^sandbox (?!.*allow-same-origin)/);
    const dropped = ["clear-site-data", "alt-svc", "strict-transport-security", "service-worker-allowed"];
    expect([...dropped, "access-control-allow-origin"].filter((name) => name in byPath.headers)).toEqual([]);
  });

  test("cannot read responses from a web page, or let pages read those of others", async () => {
    const headers = { Authorization: `Bearer ${mallory.account.token}` };
    const byHeader = { "X-Sandbox-ID": "web", "X-Sandbox-Namespace": mallory.namespace, "X-Sandbox-Port": "8000" };
    const target = answering(["Access-Control-Allow-Origin", "*"], ["Access-Control-Allow-Headers", "*"]);
    const path = `/sandboxes/${mallory.namespace}/web/8000${target}`;
    const allowed: string[] = [];
    for (const origin of ["https://evil.example", "null", `http://8000-web.${mallory.namespace}.localhost`]) {
      const page = { Origin: origin };
      const preflight = { ...page, "Access-Control-Request-Method": "GET" };
      const answers = [
        await ask(world.router, target, { headers: { ...headers, ...byHeader, ...page } }),
        await ask(world.router, path, { headers: { ...headers, ...page } }),
        await ask(world.router, "/", { method: "OPTIONS", headers: preflight }),
        await ask(world.router, path, { method: "OPTIONS", headers: preflight }),
      ];
      allowed.push(...answers.flatMap((answer) => Object.keys(answer.headers)));
    }
    expect(allowed.filter((name) => name.startsWith("access-control-"))).toEqual([]);
  });
});
