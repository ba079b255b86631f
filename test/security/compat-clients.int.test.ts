import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect as connectTo, type Socket } from "node:net";
import { join } from "node:path";
import { sandboxClaims, sandboxes } from "@agent-sandbox/api";
import type { Resource } from "@agent-sandbox/kube";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Address, type Answer, ask, jsonOf, type Question } from "../data-plane/ask.ts";
import { answering, hostileServer } from "./hostile-server.ts";
import type { Tenant } from "./tenant.ts";
import { until } from "./until.ts";
import { noWorld } from "./why-no-world.ts";
import { enterWorld, tokenOf, type World } from "./world.ts";

interface Session {
  readonly sandboxID: string;
  readonly envdAccessToken: string;
  readonly trafficAccessToken: string;
}

const serviceAccounts: Resource = {
  apiVersion: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  namespaced: true,
};

const secret = "the-secret-of-bob";
const file = "/files?path=/home/user/diary";

/** A link as a client signs it. */
function sign(
  token: string,
  { path = "/home/user/diary", operation = "read", username = "", until: end = "" },
): string {
  const parts = [path, operation, username, token, ...(end === "" ? [] : [end])];
  const digest = createHash("sha256").update(parts.join(":")).digest("base64").replaceAll("=", "");
  return `v1_${encodeURIComponent(digest)}`;
}

/** Callers of the listener for clients of other platforms, who attack another tenant's sandbox and the box itself. */
describe.skipIf(noWorld)("a caller of the listener for foreign clients", { timeout: 120_000 }, () => {
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
      const made = await control(tenant, "POST", "/v2/sandboxes", { templateID: "base", envVars: { WORD: text } });
      const session = jsonOf<Session>(made);
      const headers = { ...daemon(session), "content-type": "application/octet-stream" };
      expect((await ask(listener, file, { method: "POST", headers, body: text })).status).toBe(200);
      return session;
    };
    [own, victim] = await Promise.all([make(mallory, "mine"), make(bob, secret)]);
    await hostileServer.start(mallory, "web");
  }, 180_000);
  afterAll(async () => {
    for (const tenant of [mallory, bob]) {
      const { items } = (await tenant?.client.list(sandboxClaims, { namespace: tenant.namespace })) ?? { items: [] };
      for (const { metadata } of items) {
        await tenant.client.delete(sandboxClaims, { namespace: tenant.namespace, name: metadata.name ?? "" });
      }
      await tenant?.[Symbol.asyncDispose]();
    }
    await world?.[Symbol.asyncDispose]();
  });

  const keyOf = ({ account, namespace }: Tenant): string => `${account.token}@${namespace}`;
  const daemon = ({ sandboxID, envdAccessToken }: Session): Record<string, string> => ({
    "e2b-sandbox-id": sandboxID,
    "x-access-token": envdAccessToken,
  });
  function control(by: Tenant | string, method: string, path: string, body?: object): Promise<Answer> {
    const key = typeof by === "string" ? by : keyOf(by);
    const headers = { "content-type": "application/json", ...(key !== "" && { "x-api-key": key }) };
    return ask(listener, `/e2b${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  }
  const get = (target: string, headers: Question["headers"] = {}): Promise<Answer> =>
    ask(listener, target, { headers });
  /** Fails unless the victim's sandbox still works, and has its file. */
  async function expectNoHarm(): Promise<void> {
    const { status, text } = await get(file, daemon(victim));
    expect([status, text]).toEqual([200, secret]);
  }

  test("without a key, with a forged one or with another tenant's gets nothing of a namespace", async () => {
    const { namespace } = bob;
    const keys = ["", `@${namespace}`, `forged@${namespace}`, own.envdAccessToken, own.trafficAccessToken];
    const foreign = `${mallory.account.token}@${namespace}`;
    const calls = [
      ["GET", "/v2/sandboxes"],
      ["POST", "/v2/sandboxes", { templateID: "base" }],
      ...["", "/timeout", "/connect", "/pause", "/snapshots", "/fork"].map(
        (rest) => ["POST", `/sandboxes/${victim.sandboxID}${rest}`, { timeout: 10 }] as const,
      ),
      ["DELETE", `/sandboxes/${victim.sandboxID}`],
    ] as readonly (readonly [string, string, object?])[];
    for (const [method, path, body] of calls) {
      for (const key of keys) {
        const { status, text } = await control(key, method, path, body);
        expect([method, path, status, text.includes(secret)]).toEqual([method, path, 401, false]);
      }
      const { status, text } = await control(foreign, method, path, body);
      expect([403, 404]).toContain(status);
      expect(text).not.toContain(victim.envdAccessToken);
    }
    await expectNoHarm();
  });

  test("cannot use the key of a ServiceAccount that was deleted", async () => {
    await mallory.create(serviceAccounts, "visitor", {});
    const key = await tokenOf(mallory, mallory.namespace, "visitor");
    // It has no rights, but it is known.
    expect((await control(key, "GET", "/v2/sandboxes")).status).toBe(403);
    await mallory.client.delete(serviceAccounts, { namespace: mallory.namespace, name: "visitor" });
    await until(async () => ((await control(key, "GET", "/v2/sandboxes")).status === 401 ? true : undefined));
  });

  test("reaches no other sandbox with its own token, whatever names the sandbox", async () => {
    const token = { "x-access-token": own.envdAccessToken, "e2b-traffic-access-token": own.trafficAccessToken };
    const name = `${victim.sandboxID}.${bob.namespace}`;
    const hosts = [
      `49983-${name}.localhost`,
      `49983-${name}.localhost.`,
      `49983-${name}.LOCALHOST:7682`,
      `49983-${name.toUpperCase()}.localhost`,
      `49983-${name}.localhost:1:2`,
      `x@49983-${name}.localhost`,
      `049983-${name}.localhost`,
      `8080-${name}.localhost`,
      `99999-${name}.localhost`,
    ];
    const names = { "e2b-sandbox-id": victim.sandboxID };
    const attempts: readonly (readonly [string, Question["headers"]])[] = [
      ...hosts.map((host) => [file, { ...token, host }] as const),
      ...hosts.map((host) => [file, { ...token, host, "e2b-sandbox-id": own.sandboxID }] as const),
      [file, { ...token, ...names }],
      [file, { ...token, "e2b-sandbox-id": [victim.sandboxID, own.sandboxID] }],
      [file, { ...token, ...names, "x-sandbox-uid": "", "x-sandbox-namespace": bob.namespace }],
      [file, { ...token, ...names, "e2b-sandbox-port": "8080" }],
      [file, { ...token, "e2b-sandbox-id": `../${bob.namespace}/${victim.sandboxID}` }],
      [`http://49983-${name}.localhost${file}`, { ...token, "e2b-sandbox-id": own.sandboxID }],
      [`//49983-${name}.localhost${file}`, { ...token, "e2b-sandbox-id": own.sandboxID }],
    ];
    for (const [target, headers] of attempts) {
      const { status, text } = await get(target, headers);
      const isOwn = status === 200 && text === "mine";
      expect([target, headers, isOwn || status >= 400, text.includes(secret)]).toEqual([target, headers, true, false]);
    }
    await expectNoHarm();
  });

  test("cannot use a link for another path, operation, user, time or sandbox", async () => {
    const token = victim.envdAccessToken;
    const now = Math.floor(Date.now() / 1000);
    const [later, past] = [String(now + 600), String(now - 10)];
    const link = (signature: string, more = ""): string => `${file}&signature=${signature}${more}`;
    const good = link(sign(token, { until: later }), `&signature_expiration=${later}`);
    expect((await get(good)).text).toBe(secret);
    const forged: readonly (readonly [string, Question["headers"]?, string?])[] = [
      [link(sign(own.envdAccessToken, {})), { "e2b-sandbox-id": victim.sandboxID }],
      [link(sign(own.envdAccessToken, {})), { host: `49983-${victim.sandboxID}.${bob.namespace}.localhost` }],
      [good, { "e2b-sandbox-id": own.sandboxID }],
      [link(sign(token, { until: past }), `&signature_expiration=${past}`)],
      [link(sign(token, { until: past }), `&signature_expiration=${later}`)],
      [link(sign(token, { until: later }))],
      [link(sign(token, { path: "/etc/passwd" }))],
      [link(sign(token, {}), "&username=root")],
      [link(sign(token, {})).replace("diary", "../user/diary")],
      [link(sign(token, { operation: "write" }))],
      [link(sign(token, {})), undefined, "POST"],
      [link("v1_")],
      [link("")],
    ];
    for (const [target, headers = {}, method = "GET"] of forged) {
      const body = method === "POST" ? { body: "overwritten" } : {};
      const { status, text } = await ask(listener, target, {
        method,
        headers: { "content-type": "application/octet-stream", ...headers },
        ...body,
      });
      // A link that mallory signed is good in mallory's own sandbox.
      const isOwn = status === 200 && text === "mine";
      expect([target, status === 401 || isOwn]).toEqual([target, true]);
    }
    await expectNoHarm();
  });

  test("cannot leave the sandbox with a path", async () => {
    const { sentinel } = world.machine;
    const paths = [
      `${sentinel}/private`,
      `/../../../..${sentinel}/private`,
      `/proc/1/root${sentinel}/private`,
      "~/../../../x",
    ];
    for (const path of paths) {
      for (const spelled of [encodeURIComponent(path), path.replaceAll("..", "%2e%2e").replaceAll("/", "%2f")]) {
        const { status, text } = await get(`/files?path=${spelled}`, daemon(own));
        expect([path, status >= 400, text.includes("private to the machine")]).toEqual([path, true, false]);
      }
    }
  });

  test("has no access with tokens that were revoked, not even to variables that need no request to the sandbox", async () => {
    const { body } = await control(mallory, "POST", "/v2/sandboxes", { templateID: "base", envVars: { A: "kept" } });
    const session = JSON.parse(body.toString()) as Session;
    const link = `/files?path=/etc/passwd&signature=${sign(session.envdAccessToken, { path: "/etc/passwd" })}`;
    expect((await get("/envs", daemon(session))).text).toContain("kept");
    expect((await get(link)).status).toBe(200);
    const key = { namespace: mallory.namespace, name: session.sandboxID };
    const claim = await mallory.client.get(sandboxClaims, key);
    const bound = { ...key, name: claim.status?.sandbox?.name ?? "" };
    const annotations = { "agents.x-k8s.io/tokens-not-before": new Date(Date.now() + 60_000).toISOString() };
    await mallory.client.patch(sandboxes, bound, { type: "merge", body: { metadata: { annotations } } });
    const port = { "e2b-sandbox-port": "8000", "e2b-traffic-access-token": session.trafficAccessToken };
    for (const [target, headers] of [
      ["/envs", daemon(session)],
      ["/health", daemon(session)],
      ["/", { ...daemon(session), ...port }],
      [link, {}],
    ] as const) {
      await until(async () => ([401, 403].includes((await get(target, headers)).status) ? true : undefined));
    }
    await mallory.client.delete(sandboxClaims, key);
  });

  test("cannot use the token of a deleted sandbox whose name was taken again", async () => {
    const name = "again";
    const make = (): Promise<unknown> => mallory.runSandbox(name, {}, { runtime: "Injected" });
    await make();
    const old = jsonOf<Session>(await control(mallory, "POST", `/sandboxes/${name}/connect`, { timeout: 600 }));
    expect((await get("/health", daemon(old))).status).toBe(204);
    const key = { namespace: mallory.namespace, name };
    await mallory.client.delete(sandboxes, key);
    await until(async () => {
      const pod = await mallory.pod(name).catch(() => undefined);
      const sandbox = await mallory.client.get(sandboxes, key).catch(() => undefined);
      return pod === undefined && sandbox === undefined ? true : undefined;
    });
    await make();
    const next = jsonOf<Session>(await control(mallory, "POST", `/sandboxes/${name}/connect`, { timeout: 600 }));
    expect((await get("/health", daemon(next))).status).toBe(204);
    for (const target of ["/health", "/envs", "/files?path=/etc/passwd"]) {
      const { status, text } = await get(target, daemon(old));
      expect([target, status, text]).toEqual([target, 502, expect.stringContaining("not found")]);
    }
    await mallory.client.delete(sandboxes, key);
  });

  test("cannot send headers that a sandbox would attribute to the router, and gets no answer in the router's name", async () => {
    const session = jsonOf<Session>(await control(mallory, "POST", "/sandboxes/web/connect", { timeout: 600 }));
    const names = {
      "e2b-sandbox-id": "web",
      "e2b-sandbox-port": String(hostileServer.port),
      "e2b-traffic-access-token": session.trafficAccessToken,
    };
    const planted = {
      "X-Sandbox-Token": "planted",
      X_Sandbox_Token: "planted",
      "X-Sandbox-ID": "planted",
      X_Sandbox_ID: "planted",
      "X-Sandbox-Authorization": "Bearer planted",
      "X-Forwarded-For": "planted",
      X_Forwarded_For: "planted",
      "X-Real-IP": "planted",
      Forwarded: "for=planted",
      "Proxy-Authorization": "Bearer planted",
      "X-API-Key": "planted",
      E2B_Traffic_Access_Token: "planted",
      Connection: "x-sandbox-authorization, x-sandbox-id",
      Cookie: "a=1; agent-sandbox-session=planted",
    };
    const { status, text } = await get("/", { ...planted, ...names });
    expect([status, text.includes("planted"), text.includes(session.trafficAccessToken)]).toEqual([200, false, false]);
    const forged = await get(answering(["X-Sandbox-Reason", "SandboxNotFound"], ["X-Sandbox-Token", "x"]), names);
    expect([forged.status, forged.text.includes('"headers"'), forged.headers["x-sandbox-reason"]]).toEqual([
      200,
      true,
      undefined,
    ]);
    // The paths of the router's own API belong to the sandbox here.
    for (const path of [
      `/router/v1/namespaces/${bob.namespace}/sandboxes/${victim.sandboxID}/tokens`,
      `/sandboxes/${bob.namespace}/${victim.sandboxID}/8080/v1/files/home/user/diary`,
      `http://8080-${victim.sandboxID}.${bob.namespace}.localhost/v1/files/home/user/diary`,
    ]) {
      const answer = await get(path, names);
      const isRefused = answer.status >= 400 || answer.text.includes('"headers"');
      expect([path, isRefused, answer.text.includes(secret)]).toEqual([path, true, false]);
    }
  });

  test("is not found by code in a sandbox, and tells local users without a key nothing", async () => {
    const { port } = listener;
    const reach = `python3 - <<'X'
import socket
for host in ("127.0.0.1", "$(ip route 2>/dev/null | cut -d' ' -f3 | head -1)", "198.51.100.2"):
    try: socket.create_connection((host, ${port}), 1); print("reached")
    except OSError: pass
X`;
    expect(await mallory.shell("web", reach)).toBe("");
    const url = `http://${listener.host}:${port}/e2b/v2/sandboxes`;
    const { stdout } = await world.machine.runAsNobody("curl", "-sS", url);
    expect(JSON.parse(stdout)).toMatchObject({ code: 401 });
  });

  test("does not end the box by closing connections that are to be upgraded", async () => {
    const pid = world.box.pid();
    const name = `8000-${victim.sandboxID}.${bob.namespace}.localhost`;
    const web = `8000-${own.sandboxID}.${mallory.namespace}.localhost\r\nE2B-Traffic-Access-Token: ${own.trafficAccessToken}`;
    for (let count = 0; count < 200; count++) {
      const host = count % 2 === 0 ? name : web;
      const head = `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n`;
      const socket = connectTo(listener).on("error", () => undefined);
      await once(socket, "connect");
      const closed = once(socket, "close");
      socket.write(head + "x".repeat(count % 3 === 0 ? 100_000 : 0), () => {
        if (count % 4 < 2) socket.resetAndDestroy();
        else setImmediate(() => socket.resetAndDestroy());
      });
      await closed;
    }
    expect((await get("/e2b/health")).status).toBe(204);
    expect(world.box.pid()).toBe(pid);
    await expectNoHarm();
  });

  test("does not fill the memory of the box with large bodies that never end", async () => {
    const head = (length: number): string =>
      [
        "POST /process.Process/List HTTP/1.1",
        "Host: x",
        "Content-Type: application/json",
        `E2b-Sandbox-Id: ${own.sandboxID}`,
        `X-Access-Token: ${own.envdAccessToken}`,
        `Content-Length: ${length}`,
        "\r\n",
      ].join("\r\n");
    const sockets: Socket[] = [];
    let refused = 0;
    try {
      for (let count = 0; count < 300; count++) {
        const socket = connectTo(listener).on("error", () => undefined);
        sockets.push(socket);
        await once(socket, "connect");
        socket.on("data", (bytes: Buffer) => {
          if (bytes.includes("HTTP/1.1 503")) refused += 1;
        });
        socket.write(head(16_000_000));
        socket.write(Buffer.alloc(1_100_000, 0x20));
      }
      await expect.poll(() => refused, { timeout: 60_000 }).toBeGreaterThan(100);
      // Small requests are served meanwhile.
      await expectNoHarm();
      const listed = await control(bob, "GET", "/v2/sandboxes");
      expect([listed.status, listed.text.includes(victim.sandboxID)]).toEqual([200, true]);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    const headers = { ...daemon(victim), "content-type": "application/json" };
    const large = (): Promise<Answer> =>
      ask(listener, "/process.Process/List", { method: "POST", headers, body: `{"a":"${"x".repeat(8_000_000)}"}` });
    await until(async () => ((await large()).status === 200 ? true : undefined));
  });

  test("has a limited number of watchers, and its streams delay nobody", async () => {
    const headers = { ...daemon(own), "content-type": "application/json" };
    const watch = (): Promise<Answer> =>
      ask(listener, "/filesystem.Filesystem/CreateWatcher", { method: "POST", headers, body: '{"path":"/tmp"}' });
    const answers = await Promise.all(Array.from({ length: 60 }, watch));
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(16);
    const ending = new AbortController();
    const body = Buffer.concat([Buffer.from([0, 0, 0, 0, 15]), Buffer.from('{"path":"/tmp"}')]);
    const streams = Array.from({ length: 1000 }, () =>
      ask(listener, "/filesystem.Filesystem/WatchDir", {
        method: "POST",
        headers: { ...headers, "content-type": "application/connect+json" },
        body,
        signal: ending.signal,
      }).catch(() => undefined),
    );
    try {
      await expectNoHarm();
      expect(await world.alice.ask("web", 8000, "/diary")).toMatchObject({ status: 200 });
    } finally {
      ending.abort();
      await Promise.all(streams);
    }
    await expectNoHarm();
  });
});
