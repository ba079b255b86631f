import { once } from "node:events";
import { createServer, request as httpRequest, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { namedServers, type SendHttp } from "@agent-sandbox/sdk/internal";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HttpEndpoint } from "./http-endpoint.ts";

type Reply = { readonly status: number; readonly headers: Headers; readonly text: string };

const users: Readonly<Record<string, string>> = {
  anna: "system:serviceaccount:team-a:anna",
  bert: "system:serviceaccount:team-b:bert",
};
const accept = "application/json, text/event-stream";
const modern = "2026-07-28";

/** What the API server was asked for, and what it answers. */
const asked: { readonly url: string; readonly authorization: string | undefined; readonly signal: AbortSignal }[] = [];
let answer: (signal: AbortSignal) => Promise<object> = async () => ({ items: [] });

const send: SendHttp = async ({ url, headers, signal = new AbortController().signal }) => {
  asked.push({ url, authorization: headers["authorization"], signal });
  const body = JSON.stringify(await answer(signal));
  return {
    status: 200,
    header: () => undefined,
    body: (async function* () {
      yield Buffer.from(body);
    })(),
  };
};

const endpoint = new HttpEndpoint({
  userOf: async (token) => {
    if (token === "broken") throw new Error("no API server");
    return users[token];
  },
  servers: (token, namespace) => namedServers({ server: "http://api", token, namespace }, "http://router"),
  send,
  source: { image: "host" },
  version: "1.0.0",
});
const server: Server = createServer((request, response) => {
  const serving = endpoint.serve(request, response, new URL(request.url ?? "", "http://listener"));
  // As the listener of the box does.
  void serving.finally(() => request.resume());
});
let base = "";
beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await endpoint[Symbol.asyncDispose]();
  server.close();
  server.closeAllConnections();
});

interface Question {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly path?: string;
  readonly signal?: AbortSignal;
}

async function ask(
  body: unknown,
  { token = "anna", headers = {}, method = "POST", path = "/mcp", signal }: Question = {},
): Promise<Reply> {
  const response = await fetch(`${base}${path}`, {
    method,
    headers: {
      accept,
      "content-type": "application/json",
      ...(token !== "" && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(method === "POST" && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** The message of an answer that is a stream or a document. */
// oxlint-disable-next-line typescript/no-explicit-any
function messageOf({ text }: Reply): any {
  const [, data = text] = /^data: (.*)$/m.exec(text) ?? [];
  return JSON.parse(data);
}

const list = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "list_sandboxes", arguments: {} } };
const envelope = {
  "io.modelcontextprotocol/protocolVersion": modern,
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
};
const modernList = { ...list, params: { ...list.params, _meta: envelope } };
const modernHeaders = { "mcp-protocol-version": modern, "mcp-method": "tools/call", "mcp-name": "list_sandboxes" };

describe("authorization", () => {
  test.for(["", "forged"])("the token %j gets the address of the metadata", async (token) => {
    const { status, headers } = await ask(list, { token });
    const { host } = new URL(base);
    const metadata = `http://${host}/.well-known/oauth-protected-resource/mcp`;
    expect([status, headers.get("www-authenticate")]).toEqual([
      401,
      `Bearer resource_metadata="${metadata}", scope="sandboxes"`,
    ]);
    const document = await (await fetch(metadata)).json();
    expect(document).toMatchObject({ resource: `http://${host}/mcp`, bearer_methods_supported: ["header"] });
  });
  test("a token in the address, another scheme and several words are no tokens", async () => {
    expect((await ask(list, { token: "", path: "/mcp?token=anna" })).status).toBe(401);
    for (const authorization of ["anna", "Basic anna", "Bearer", "Bearer anna anna", "Bearer ünicode"]) {
      const headers = { authorization: Buffer.from(authorization).toString("latin1") };
      expect((await ask(list, { token: "", headers })).status).toBe(401);
    }
  });
  test("a failing review is not an invalid token", async () => {
    expect((await ask(list, { token: "broken" })).status).toBe(503);
  });
  test.for([
    [{ origin: "https://evil.example" }, 403],
    [{ origin: "null" }, 403],
    [{ origin: "http://127.0.0.1" }, 403],
  ] as const)("a web page is refused: %j", async ([headers, status]) => {
    expect((await ask(list, { headers })).status).toBe(status);
  });
  test("a name that is made to resolve to this address is refused, also for the metadata", async () => {
    for (const path of ["/mcp", "/.well-known/oauth-protected-resource/mcp"]) {
      const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer anna\r\nConnection: close\r\n\r\n`,
      );
      let text = "";
      for await (const chunk of socket) text += String(chunk);
      expect(text).toMatch(/^HTTP\/1.1 421 /);
    }
  });
  test("calls are made with the token and in the namespace of the caller, or in one that the address names", async () => {
    asked.length = 0;
    await ask(list);
    await ask(list, { token: "bert", path: "/mcp?namespace=other" });
    const seen = new Set(
      asked.map(({ url, authorization }) => `${authorization} ${/namespaces\/[^/]+/.exec(url)?.[0]}`),
    );
    expect([...seen]).toEqual(["Bearer anna namespaces/team-a", "Bearer bert namespaces/other"]);
  });
});

describe("the older protocol", () => {
  const initialize = {
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
  };
  test("opens with a session that no later request needs", async () => {
    const opened = await ask(initialize);
    expect(messageOf(opened).result).toMatchObject({ protocolVersion: "2025-11-25" });
    expect(opened.headers.get("mcp-session-id")).toMatch(/^[0-9a-f-]{36}$/);
    const headers = { "mcp-session-id": "0".repeat(36), "mcp-protocol-version": "2025-11-25" };
    for (const more of [{}, { headers }]) {
      expect(messageOf(await ask(list, more)).result.structuredContent).toEqual({ sandboxes: [] });
    }
  });
  test("a notification gets no answer", async () => {
    const { status, text } = await ask({ jsonrpc: "2.0", method: "notifications/initialized" });
    expect([status, text]).toEqual([202, ""]);
  });
  test("an unknown method, an unknown tool and wrong arguments", async () => {
    expect(messageOf(await ask({ ...list, method: "no/such" })).error.code).toBe(-32_601);
    const named = (params: object) => ask({ ...list, params });
    expect(messageOf(await named({ name: "none", arguments: {} })).error.code).toBe(-32_602);
    const { result } = messageOf(await named({ name: "list_sandboxes", arguments: { limit: 1000 } }));
    expect([result.isError, result.content[0].text]).toEqual([true, expect.stringContaining("limit")]);
  });
});

describe("the newer protocol", () => {
  test("needs no opening", async () => {
    const { status, text } = await ask(modernList, { headers: modernHeaders });
    expect([status, JSON.parse(text).result]).toEqual([
      200,
      expect.objectContaining({ resultType: "complete", structuredContent: { sandboxes: [] } }),
    ]);
  });
  test("headers that contradict the message are refused (92)", async () => {
    const { status, text } = await ask(modernList, { headers: { ...modernHeaders, "mcp-name": "run_command" } });
    expect([status, JSON.parse(text).error.code]).toEqual([400, -32_020]);
  });
  test("an unknown version is refused with those that are served (93)", async () => {
    const version = "1900-01-01";
    const _meta = { ...envelope, "io.modelcontextprotocol/protocolVersion": version };
    const message = { ...list, params: { ...list.params, _meta } };
    const { status, text } = await ask(message, { headers: { ...modernHeaders, "mcp-protocol-version": version } });
    expect([status, JSON.parse(text).error]).toEqual([
      400,
      expect.objectContaining({ code: -32_022, data: { supported: [modern], requested: version } }),
    ]);
  });
});

describe("requests that are no messages", () => {
  test.for(["GET", "DELETE", "PUT"])("%s is not served", async (method) => {
    const { status, headers } = await ask("", { method });
    expect([status, headers.get("allow")]).toEqual([405, "POST"]);
  });
  test("another content type, and a client that cannot read the answer", async () => {
    expect((await ask(list, { headers: { "content-type": "text/plain" } })).status).toBe(415);
    expect((await ask(list, { headers: { accept: "application/json" } })).status).toBe(406);
  });
  test.for([
    ["no JSON", "{", 400],
    ["nothing", "", 400],
    ["null", "null", 400],
    ["a text", '"a"', 400],
    ["an empty list", "[]", 400],
    ["an object that is no message", "{}", 400],
    ["very many messages", JSON.stringify(Array.from({ length: 33 }, () => list)), 400],
    ["very deep arguments", `${"[".repeat(100_000)}${"]".repeat(100_000)}`, 400],
    ["a body that is too long", JSON.stringify({ ...list, more: "x".repeat(5_000_000) }), 413],
    ["parameters of the address that do not exist", list, 400, "/mcp?sandbox=a"],
  ] as const)("%s", async ([, body, status, path = "/mcp"]) => {
    expect((await ask(body, { path })).status).toBe(status);
  });
  test("a long body without a length is refused as it arrives", async () => {
    const headers = { accept, "content-type": "application/json", authorization: "Bearer anna" };
    const sending = httpRequest(`${base}/mcp`, { method: "POST", headers });
    const answered = once(sending, "response");
    sending.write(Buffer.alloc(1_000_000, 0x20));
    sending.end(Buffer.alloc(4_000_000, 0x20));
    const [{ statusCode }] = await answered;
    expect(statusCode).toBe(413);
  });
});

describe("calls that are running", () => {
  /** Makes the API server wait until its caller gives up, and returns how many requests wait. */
  const hang = (): (() => number) => {
    let waiting = 0;
    answer = (signal) => {
      waiting++;
      return new Promise((_, reject) => {
        const stop = (): void => {
          waiting--;
          reject(new Error("aborted"));
        };
        if (signal.aborted) stop();
        else signal.addEventListener("abort", stop, { once: true });
      });
    };
    return () => waiting;
  };
  test.for([
    ["older", list, {}],
    ["newer", modernList, modernHeaders],
  ] as const)("end when a client of the %s protocol disconnects (96)", async ([, message, headers]) => {
    const waiting = hang();
    const leaving = new AbortController();
    const ended = ask(message, { headers, signal: leaving.signal }).catch(() => "left");
    await expect.poll(waiting).toBe(2);
    leaving.abort();
    expect(await ended).toBe("left");
    await expect.poll(waiting).toBe(0);
  });
  test("end when their session cancels them, and not when another user does", async () => {
    const waiting = hang();
    const session =
      (
        await ask({
          ...list,
          id: 0,
          method: "initialize",
          params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
        })
      ).headers.get("mcp-session-id") ?? "";
    const headers = { "mcp-session-id": session };
    const ended = ask({ ...list, id: 7 }, { headers }).catch(() => undefined);
    await expect.poll(waiting).toBe(2);
    const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } };
    expect((await ask(cancel, { token: "bert", headers })).status).toBe(202);
    expect((await ask(cancel, { headers: { "mcp-session-id": "0".repeat(36) } })).status).toBe(202);
    expect(waiting()).toBe(2);
    expect((await ask(cancel, { headers })).status).toBe(202);
    await expect.poll(waiting).toBe(0);
    await ended;
  });
  test("leave no watch behind, also when a subscription is refused", async () => {
    answer = async () => ({ items: [] });
    asked.length = 0;
    const listen = { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params: { notifications: {} } };
    expect(messageOf(await ask(listen)).error.code).toBe(-32_601);
    const watches = asked.filter(({ url }) => url.includes("watch=true"));
    expect(watches.length).toBeGreaterThan(0);
    await expect.poll(() => watches.every(({ signal }) => signal.aborted)).toBe(true);
  });
  test("of one user are limited, and leave others their share", async () => {
    const waiting = hang();
    const leaving = new AbortController();
    const { signal } = leaving;
    const statuses: (number | undefined)[] = [];
    const all = Array.from({ length: 300 }, async () => {
      const reply = await ask(list, { signal }).catch(() => undefined);
      statuses.push(reply?.status);
    });
    await expect.poll(() => statuses.length, { timeout: 60_000 }).toBeGreaterThan(40);
    expect(new Set(statuses)).toEqual(new Set([429]));
    const others = waiting();
    const other = ask(list, { token: "bert", signal }).catch(() => undefined);
    await expect.poll(waiting).toBe(others + 2);
    leaving.abort();
    await Promise.all([...all, other]);
    await expect.poll(waiting).toBe(0);
    answer = async () => ({ items: [] });
    expect((await ask(list)).status).toBe(200);
  });
});
