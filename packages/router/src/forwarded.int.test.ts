import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import type { ForwardCaller, ForwardUser } from "@agent-sandbox/kube";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestCluster } from "./cluster.test.support.ts";
import type { Router } from "./start-router.ts";

const statusOf = async (sent: ClientRequest): Promise<number | undefined> => {
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return response.statusCode;
};

/** Connections that the API server opens for port-forwards. */
describe("a connection of a port-forward", () => {
  let cluster: TestCluster;
  let router: Router;
  let port: number;
  const held = new Set<() => void>();
  beforeAll(async () => {
    cluster = new TestCluster();
    cluster.users.set("token-of-alice", { username: "alice", mayConnect: ["default/own"] });
    cluster.users.set("token-of-bob", { username: "bob", mayConnect: ["default/other"] });
    const pod = await cluster.serve((asked, response) => {
      if (asked.url === "/hold") return void held.add(() => response.end());
      response.end(JSON.stringify({ url: asked.url, headers: asked.headers }));
    });
    port = pod.port;
    for (const name of ["own", "other"]) {
      const sandbox = await cluster.sandbox(name);
      await cluster.pod(sandbox, pod.ip);
    }
    router = await cluster.router({ auth: {}, recheckMs: 50 });
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  const alice: ForwardUser = { username: "alice", groups: ["g"] };
  const callerOf = (user: () => ForwardUser | undefined): ForwardCaller => ({ address: "10.1.2.3", user });
  const ask = async (
    caller: ForwardCaller,
    {
      sandbox = "own",
      path = "/",
      headers = {},
    }: { sandbox?: string; path?: string; headers?: Record<string, string> },
  ): Promise<{ status: number | undefined; body: string }> => {
    const socket = await router.connect(caller);
    const named = { "X-Sandbox-ID": sandbox, "X-Sandbox-Port": String(port), Host: "127.0.0.1:40123" };
    const sent = request({ path, headers: { ...named, ...headers }, createConnection: () => socket }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    const body = await text(response);
    socket.destroy();
    return { status: response.statusCode, body };
  };

  test("carries the identity of its client, whose access is checked for each sandbox", async () => {
    const { status, body } = await ask(
      callerOf(() => alice),
      {},
    );
    expect([status, JSON.parse(body).headers["x-forwarded-for"]]).toEqual([200, "10.1.2.3"]);
    expect(
      (
        await ask(
          callerOf(() => alice),
          { sandbox: "other" },
        )
      ).status,
    ).toBe(403);
    expect(
      (
        await ask(
          callerOf(() => alice),
          { sandbox: "missing" },
        )
      ).status,
    ).toBe(403);
  });

  test("ignores headers that name another user", async () => {
    for (const name of ["Impersonate-User", "X-Remote-User", "X-Forwarded-User", "X-Sandbox-User"]) {
      const { status } = await ask(
        callerOf(() => alice),
        { sandbox: "other", headers: { [name]: "bob" } },
      );
      expect([name, status]).toEqual([name, 403]);
    }
  });

  test("uses a token of the request instead, and refuses an invalid one", async () => {
    const withToken = (token: string) => ({ sandbox: "other", headers: { Authorization: `Bearer ${token}` } });
    expect(
      (
        await ask(
          callerOf(() => alice),
          withToken("token-of-bob"),
        )
      ).status,
    ).toBe(200);
    expect(
      (
        await ask(
          callerOf(() => alice),
          withToken("invalid"),
        )
      ).status,
    ).toBe(401);
  });

  test("ends with the credential: later requests are refused, and an open one is closed", async () => {
    let user: ForwardUser | undefined = alice;
    const caller = callerOf(() => user);
    const open = ask(caller, { path: "/hold" });
    while (held.size === 0) await new Promise(setImmediate);
    user = undefined;
    expect((await ask(caller, {})).status).toBe(401);
    expect(await open).toMatchObject({ status: 401 });
  });

  test("has no identity for web pages, which can reach the local port of a port-forward", async () => {
    const pages = [
      { Origin: "http://evil.example" },
      { "Sec-Fetch-Site": "cross-site" },
      { Host: "evil.example:40123" },
    ];
    for (const headers of pages)
      expect(
        (
          await ask(
            callerOf(() => alice),
            { headers },
          )
        ).status,
      ).toBe(401);
    const socket = await router.connect(callerOf(() => alice));
    const path = `/sandboxes/default/own/${port}/`;
    expect(await statusOf(request({ path, createConnection: () => socket }).end())).toBe(401);
    socket.destroy();
  });

  test("cannot issue tokens, which would outlive it", async () => {
    const socket = await router.connect(callerOf(() => alice));
    const path = "/router/v1/namespaces/default/sandboxes/own/tokens";
    expect(await statusOf(request({ method: "POST", path, createConnection: () => socket }).end("{}"))).toBe(401);
    socket.destroy();
  });

  test("serves several requests, and many connections at a time", async () => {
    const socket = await router.connect(callerOf(() => alice));
    const head = `GET /a HTTP/1.1\r\nHost: localhost\r\nX-Sandbox-ID: own\r\nX-Sandbox-Port: ${port}\r\n`;
    socket.write(`${head}\r\n${head}Connection: close\r\n\r\n`);
    expect((await text(socket)).match(/HTTP\/1.1 200/g)).toHaveLength(2);
    const many = await Promise.all(
      Array.from({ length: 50 }, () =>
        ask(
          callerOf(() => alice),
          {},
        ),
      ),
    );
    expect(new Set(many.map(({ status }) => status))).toEqual(new Set([200]));
  });

  test("refuses HTTP/2", async () => {
    const socket = await router.connect(callerOf(() => alice));
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    expect(await text(socket)).toContain("HTTP/1.1 400");
  });

  test("is refused when the router stops", async () => {
    const stopped = await cluster.router({ auth: {} });
    await stopped[Symbol.asyncDispose]();
    await expect(stopped.connect(callerOf(() => alice))).rejects.toThrow("accepts no more connections");
  });
});
