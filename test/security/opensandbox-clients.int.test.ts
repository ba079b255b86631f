import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect as connectTo } from "node:net";
import { join } from "node:path";
import { sandboxClaims, sandboxes } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Address, type Answer, ask, jsonOf, type Question } from "../data-plane/ask.ts";
import { answering, hostileServer } from "./hostile-server.ts";
import type { Tenant } from "./tenant.ts";
import { until } from "./until.ts";
import { noWorld } from "./why-no-world.ts";
import { enterWorld, type World } from "./world.ts";

interface Endpoint {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A sandbox, the path of its daemon below the listener, and the header that opens it. */
interface Session {
  readonly id: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

const secret = "the-secret-of-bob";
const execd = 44_772;

/** Callers of the listener for foreign clients who use OpenSandbox's protocols against another tenant's sandbox and the box itself. */
describe.skipIf(noWorld)("a caller of OpenSandbox's protocols", { timeout: 120_000 }, () => {
  let world: World;
  let listener: Address;
  let mallory: Tenant;
  let bob: Tenant;
  let own: Session;
  let victim: Session;

  beforeAll(async () => {
    world = await enterWorld();
    const record = readFileSync(join(world.box.dataDir, "box.json"), "utf8");
    const { hostname, port } = new URL((JSON.parse(record) as { readonly compatUrl: string }).compatUrl);
    listener = { host: hostname, port: Number(port) };
    [mallory, bob] = await Promise.all([world.tenant(), world.tenant("bob")]);
    const make = async (tenant: Tenant, text: string): Promise<Session> => {
      const { id } = jsonOf<{ id: string }>(await lifecycle(tenant, "POST", "/sandboxes", { image: { uri: "host" } }));
      const session = await sessionOf(tenant, id);
      await until(async () => ((await get(`${session.path}/ping`, session.headers)).status === 200 ? true : undefined));
      expect(await run(session, `echo ${text} > /diary`)).toMatchObject({ status: 200 });
      return session;
    };
    [own, victim] = await Promise.all([make(mallory, "mine"), make(bob, secret)]);
    await hostileServer.start(mallory, "web");
  }, 180_000);
  afterAll(async () => {
    for (const tenant of [mallory, bob]) await tenant?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const keyOf = ({ account, namespace }: Tenant): string => `${account.token}@${namespace}`;
  function lifecycle(by: Tenant | string, method: string, path: string, body?: object): Promise<Answer> {
    const key = typeof by === "string" ? by : keyOf(by);
    const headers = { "content-type": "application/json", ...(key !== "" && { "open-sandbox-api-key": key }) };
    return ask(listener, `/v1${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  }
  async function endpointOf(by: Tenant, id: string, port: number, query = ""): Promise<Endpoint & { path: string }> {
    const answer = jsonOf<Endpoint>(await lifecycle(by, "GET", `/sandboxes/${id}/endpoints/${port}${query}`));
    return { ...answer, path: answer.endpoint.slice(answer.endpoint.indexOf("/")) };
  }
  async function sessionOf(by: Tenant, id: string): Promise<Session> {
    const { path, headers } = await endpointOf(by, id, execd);
    return { id, path, headers };
  }
  const get = (target: string, headers: Question["headers"] = {}): Promise<Answer> =>
    ask(listener, target, { headers });
  const post = (target: string, headers: Question["headers"], body: object): Promise<Answer> =>
    ask(listener, target, { method: "POST", headers: { ...headers }, body: JSON.stringify(body) });
  const run = ({ path, headers }: Session, command: string): Promise<Answer> =>
    post(`${path}/command`, headers, { command });
  const soon = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;
  /** Fails unless the victim's sandbox still works, and has its file. */
  async function expectNoHarm(): Promise<void> {
    const { status, text } = await run(victim, "cat /diary");
    expect([status, text.includes(secret)]).toEqual([200, true]);
  }

  test("without a key, with a forged one or with another tenant's gets nothing of a namespace", async () => {
    const { namespace } = bob;
    const token = own.headers["X-EXECD-ACCESS-TOKEN"] ?? "";
    const calls = [
      ["GET", "/sandboxes"],
      ["POST", "/sandboxes", { image: { uri: "host" } }],
      ...["", `/endpoints/${execd}`, "/networkpolicy", "/diagnostics/logs"].map(
        (rest) => ["GET", `/sandboxes/${victim.id}${rest}`] as const,
      ),
      ...["/pause", "/resume", "/snapshots"].map((rest) => ["POST", `/sandboxes/${victim.id}${rest}`] as const),
      ["POST", `/sandboxes/${victim.id}/renew-expiration`, { expiresAt: "2100-01-01T00:00:00Z" }],
      ["PATCH", `/sandboxes/${victim.id}/metadata`, { a: "planted" }],
      ["DELETE", `/sandboxes/${victim.id}`],
    ] as readonly (readonly [string, string, object?])[];
    for (const [method, path, body] of calls) {
      for (const key of ["", `@${namespace}`, `forged@${namespace}`, token]) {
        const { status, text } = await lifecycle(key, method, path, body);
        expect([method, path, status, text.includes(victim.id)]).toEqual([method, path, 401, false]);
      }
      const { status } = await lifecycle(`${mallory.account.token}@${namespace}`, method, path, body);
      const isAnswered = [403, 404, 501].includes(status);
      expect([method, path, isAnswered]).toEqual([method, path, true]);
    }
    await expectNoHarm();
  });

  test("does not find another tenant's sandbox on any route, and cannot tell it from one that does not exist", async () => {
    const absent = "a".repeat(20);
    const routes: readonly (readonly [string, string, object?])[] = [
      ["GET", ""],
      ["DELETE", ""],
      ["POST", "/pause"],
      ["POST", "/resume"],
      ["POST", "/renew-expiration", { expiresAt: "2100-01-01T00:00:00Z" }],
      ["PATCH", "/metadata", { a: "planted" }],
      ["GET", `/endpoints/${execd}`],
      ["GET", `/endpoints/8000?expires=${soon(60)}`],
      ["GET", "/networkpolicy"],
      ["POST", "/snapshots", {}],
    ];
    for (const [method, rest, body] of routes) {
      const [foreign, missing] = await Promise.all(
        [victim.id, absent].map((id) => lifecycle(mallory, method, `/sandboxes/${id}${rest}`, body)),
      );
      expect([rest, foreign?.status]).toEqual([rest, 404]);
      expect(foreign?.text.replace(victim.id, absent)).toBe(missing?.text);
    }
    for (const query of ["", "?state=Running", "?metadata=", "?pageSize=200"]) {
      expect((await lifecycle(mallory, "GET", `/sandboxes${query}`)).text).not.toContain(victim.id);
    }
    await expectNoHarm();
  });

  test("reaches no other sandbox with its own header, whatever the path or the names say", async () => {
    const { headers } = own;
    const { namespace } = bob;
    const theirs = `/sandboxes/${namespace}/${victim.id}/${execd}`;
    const mine = `/sandboxes/${mallory.namespace}/${own.id}`;
    const port = await endpointOf(mallory, own.id, 8000);
    const attempts: readonly (readonly [string, Question["headers"]?])[] = [
      [theirs, headers],
      [`${mine}/${execd}/../../../${namespace}/${victim.id}/${execd}`, headers],
      [`${mine}/${execd}/%2e%2e/%2e%2e/%2e%2e/${namespace}/${victim.id}/${execd}`, headers],
      [`/${theirs}`, headers],
      [theirs.replace(victim.id, victim.id.toUpperCase()), headers],
      [theirs, { "X-EXECD-ACCESS-TOKEN": [headers["X-EXECD-ACCESS-TOKEN"] ?? "", "x"] }],
      [theirs, { ...headers, "x-sandbox-id": own.id, "x-sandbox-namespace": mallory.namespace }],
      [theirs, { ...headers, "e2b-sandbox-id": own.id }],
      [theirs, { ...headers, host: `${execd}-${victim.id}.${namespace}.localhost` }],
      [theirs, { "open-sandbox-api-key": keyOf(mallory) }],
      [theirs, {}],
      [`/sandboxes/${mallory.namespace}/${victim.id}/${execd}`, headers],
      [`/sandboxes/${namespace}/${own.id}/${execd}`, headers],
      [`${mine}/8000`, headers],
      [`${mine}/8080/v1/files/diary`, headers],
      // The header for one port opens neither the daemon nor another port.
      [`${mine}/${execd}`, port.headers],
      [`${mine}/8001`, port.headers],
    ];
    for (const [path, sent = {}] of attempts) {
      const { status, text } = await post(`${path}/command`, sent, { command: "cat /diary" });
      expect([path, text.includes(secret)]).toEqual([path, false]);
      // The header of the daemon opens the ports of the runtime that serve it, in its own sandbox only.
      const isOwnRuntime = path.startsWith(`${mine}/8080/`) && status >= 400;
      expect([path, isOwnRuntime || [401, 403, 404].includes(status)]).toEqual([path, true]);
    }
    await expectNoHarm();
  });

  test("cannot use a signed address for another port, sandbox or time, or after the tokens were revoked", async () => {
    const { id } = jsonOf<{ id: string }>(await lifecycle(mallory, "POST", "/sandboxes", { image: { uri: "host" } }));
    const session = await sessionOf(mallory, id);
    await until(async () => ((await get(`${session.path}/ping`, session.headers)).status === 200 ? true : undefined));
    const expires = soon(600);
    const { path } = await endpointOf(mallory, id, execd, `?expires=${expires}`);
    const [, signature = ""] = /~([^~/]+)$/.exec(path) ?? [];
    expect((await get(`${path}/ping`)).status).toBe(200);
    const base = (place: string, port: number | string, end: number | string, signed = signature): string =>
      `/sandboxes/${place}/${port}~${end}~${signed}/ping`;
    const here = `${mallory.namespace}/${id}`;
    for (const target of [
      base(`${bob.namespace}/${victim.id}`, execd, expires),
      base(`${mallory.namespace}/${own.id}`, execd, expires),
      base(here, 8080, expires),
      base(here, 18_080, expires),
      base(here, execd, expires + 1),
      base(here, execd, soon(-10)),
      base(here, execd, `0${expires}`),
      base(here, execd, expires, "A".repeat(43)),
      base(here, execd, expires, signature.slice(1)),
      base(here, execd, expires, session.headers["X-EXECD-ACCESS-TOKEN"]?.slice(0, 43)),
    ]) {
      const { status } = await get(target);
      expect([target, [401, 404].includes(status)]).toEqual([target, true]);
    }
    const now = await lifecycle(mallory, "GET", `/sandboxes/${id}/endpoints/8000?expires=${soon(-1)}`);
    expect(now.status).toBe(400);
    const annotations = { "agents.x-k8s.io/tokens-not-before": new Date(Date.now() + 60_000).toISOString() };
    const key = { namespace: mallory.namespace, name: id };
    await mallory.client.patch(sandboxes, key, { type: "merge", body: { metadata: { annotations } } });
    await until(async () => ((await get(`${path}/ping`)).status === 401 ? true : undefined));
    // The answers of this server itself need no request to the sandbox.
    expect((await get(`${session.path.replace(String(execd), "18080")}/policy`, session.headers)).status).toBe(401);
    expect((await get(`${session.path}/v1/isolated/capabilities`, session.headers)).status).toBe(401);
    await mallory.client.delete(sandboxes, key);
  });

  test("plants no label, annotation or field of another object with metadata and options", async () => {
    const metadata = {
      "agents.x-k8s.io/claim-uid": "planted",
      "compat.agents.x-k8s.io/face": "e2b",
      "kubernetes.io/metadata.name": "planted",
      app: "mine",
      __proto__x: "y",
      ["__proto__"]: "z",
    };
    const made = await lifecycle(mallory, "POST", "/sandboxes", { image: { uri: "host" }, metadata });
    const { id } = jsonOf<{ id: string }>(made);
    const key = { namespace: mallory.namespace, name: id };
    const patch = { "compat.agents.x-k8s.io/face": "mcp", "agents.x-k8s.io/pool": "planted" };
    expect((await lifecycle(mallory, "PATCH", `/sandboxes/${id}/metadata`, patch)).status).toBe(200);
    const { labels = {}, annotations = {} } = (await mallory.client.get(sandboxes, key)).metadata;
    expect(Object.keys(labels).filter((label) => label.includes("/"))).toEqual(["compat.agents.x-k8s.io/face"]);
    expect(labels["compat.agents.x-k8s.io/face"]).toBe("opensandbox");
    const texts = Object.entries(annotations).filter(([, text]) => text.includes("planted"));
    expect(texts.map(([name]) => name)).toEqual(["compat.agents.x-k8s.io/metadata"]);
    await mallory.client.delete(sandboxes, key);
    const before = (await mallory.client.list(sandboxes, { namespace: mallory.namespace })).items.length;
    for (const [body, status] of [
      [{ metadata: { a: "x".repeat(300_000) } }, 400],
      [{ metadata: { a: 1 } }, 400],
      [{ env: { "a=b": "c" } }, 400],
      [{ env: { a: "\0" } }, 400],
      [{ volumes: [{ name: "v", mountPath: "/v", host: { path: "/" } }] }, 400],
      [{ volumes: [{ name: "v", mountPath: "/v", ossfs: {} }] }, 400],
      [{ volumes: [{ name: "v", mountPath: "/v", pvc: { claimName: `../${bob.namespace}/v` } }] }, 400],
      [{ volumes: [{ name: "v", mountPath: "/v", pvc: { claimName: "v", storage: "-1" } }] }, 400],
      [{ volumes: [{ name: "v", mountPath: "/v", pvc: { claimName: "v", accessModes: ["All"] } }] }, 400],
      [{ volumes: [{ name: "v", mountPath: "/v", pvc: { claimName: "v", storageClass: "../x" } }] }, 400],
      [{ volumes: [{ name: "v", mountPath: "/v", pvc: { claimName: "v", createIfNotExists: false } }] }, 400],
      [{ volumes: [{ name: "v", mountPath: "/v", pvc: { claimName: "v", deleteOnSandboxTermination: true } }] }, 501],
      [{ volumes: [{ name: "../v", mountPath: "/v", pvc: { claimName: "v" } }] }, 400],
      [{ resourceLimits: { "devices.kubevirt.io/kvm": "1" } }, 501],
      [{ resourceLimits: { cpu: "-1" } }, 400],
      [{ platform: { arch: "a b/c" } }, 400],
      [{ image: { uri: "host\nUSER root" } }, 400],
      [{ extensions: { poolRef: `../${bob.namespace}/pool` } }, 404],
      [{ image: undefined, templateId: `${bob.namespace}/base` }, 404],
      [{ networkPolicy: { defaultAction: "deny" } }, 501],
      [{ networkPolicy: {} }, 501],
      [{ credentialProxy: { enabled: true } }, 501],
      [{ entrypoint: [1] }, 400],
      [{ timeout: -1 }, 400],
    ] as const) {
      const answer = await lifecycle(mallory, "POST", "/sandboxes", { image: { uri: "host" }, ...body });
      expect([body, answer.status]).toEqual([body, status]);
    }
    const after = (await mallory.client.list(sandboxes, { namespace: mallory.namespace })).items.length;
    expect([after, (await mallory.client.list(sandboxClaims, { namespace: mallory.namespace })).items]).toEqual([
      before,
      [],
    ]);
  });

  test("cannot send headers that a sandbox would attribute to the router, and its pages have an origin of their own", async () => {
    const { path, headers } = await endpointOf(mallory, "web", hostileServer.port);
    const planted = {
      "X-Sandbox-Token": "planted",
      X_Sandbox_ID: "planted",
      "X-Forwarded-For": "planted",
      "OPEN-SANDBOX-API-KEY": "planted",
      Open_Sandbox_Api_Key: "planted",
      X_EXECD_ACCESS_TOKEN: "planted",
      Cookie: "agent-sandbox-session=planted",
    };
    const token = headers["X-EXECD-ACCESS-TOKEN"] ?? "";
    const { status, text } = await get(`${path}/`, { ...planted, ...headers });
    expect([status, text.includes("planted"), text.includes(token)]).toEqual([200, false, false]);
    const named = [
      ["Set-Cookie", "a=b; Path=/; Domain=localhost"],
      ["Content-Security-Policy", "default-src *"],
      ["Service-Worker-Allowed", "/"],
      ["Clear-Site-Data", '"*"'],
      ["Access-Control-Allow-Origin", "*"],
      ["X-Sandbox-Reason", "SandboxNotFound"],
    ] as const;
    const answer = await get(path + answering(...named), headers);
    expect(answer.headers["set-cookie"]).toEqual([`a=b; Path=${path}`]);
    expect(answer.headers["content-security-policy"]).toMatch(/(?:^|, )sandbox allow-/);
    for (const name of [
      "service-worker-allowed",
      "clear-site-data",
      "access-control-allow-origin",
      "x-sandbox-reason",
    ]) {
      expect([name, answer.headers[name]]).toEqual([name, undefined]);
    }
  });

  test("cannot leave the sandbox with a path of a file", async () => {
    const { sentinel } = world.machine;
    const { path, headers } = own;
    for (const wanted of [
      `${sentinel}/private`,
      `/../../..${sentinel}/private`,
      `/proc/1/root${sentinel}/private`,
      `~/../..${sentinel}/private`,
    ]) {
      const query = `path=${encodeURIComponent(wanted)}`;
      const read = await Promise.all(
        [
          `/files/download?${query}`,
          `/files/info?${query}`,
          `/directories/list?path=${encodeURIComponent(sentinel)}`,
        ].map((one) => get(path + one, headers)),
      );
      expect(read.map(({ status, text }) => [status >= 400, text.includes("private to the machine")])).toEqual(
        read.map(() => [true, false]),
      );
      const moved = await post(`${path}/files/mv`, headers, [{ src: wanted, dest: "/tmp/stolen" }]);
      const replaced = await post(`${path}/files/replace`, headers, { [wanted]: { old: "private", new: "changed" } });
      const removed = await ask(listener, `${path}/directories?path=${encodeURIComponent(sentinel)}`, {
        method: "DELETE",
        headers,
      });
      // What does not exist in the sandbox is removed successfully.
      expect([moved.status, replaced.status, removed.status]).toEqual([404, 404, 200]);
    }
    expect(readFileSync(join(sentinel, "private"), "utf8")).toContain("private to the machine");
  });

  test("does not end the box by closing connections that are to be upgraded", async () => {
    const pid = world.box.pid();
    const { path, headers } = await endpointOf(mallory, "web", hostileServer.port);
    const token = headers["X-EXECD-ACCESS-TOKEN"] ?? "";
    for (let count = 0; count < 60; count++) {
      const target = count % 3 === 0 ? `/sandboxes/${bob.namespace}/${victim.id}/8000/` : `${path}/`;
      const head = `GET ${target} HTTP/1.1\r\nHost: x\r\nX-EXECD-ACCESS-TOKEN: ${token}\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n`;
      const socket = connectTo(listener).on("error", () => undefined);
      await once(socket, "connect");
      const closed = once(socket, "close");
      socket.write(head + "x".repeat(count % 2 === 0 ? 100_000 : 0), () => {
        if (count % 4 < 2) socket.resetAndDestroy();
        else setImmediate(() => socket.resetAndDestroy());
      });
      await closed;
    }
    expect((await get("/v1/health")).status).toBe(200);
    expect(world.box.pid()).toBe(pid);
    await expectNoHarm();
  });

  test("gives local users without a key nothing", async () => {
    const url = `http://${listener.host}:${listener.port}/v1/sandboxes`;
    const { stdout } = await world.machine.runAsNobody("curl", "-sS", url);
    expect(JSON.parse(stdout)).toMatchObject({ code: "SANDBOX::UNAUTHORIZED" });
  });
});
