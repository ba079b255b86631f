import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:http2";
import { jsonOf, open } from "../ask.ts";
import type { Rows } from "../checklist.ts";
import { podAddress } from "../pod-facts.ts";
import { type Arrived, ports, type Subject } from "../subject.ts";

const headersOf = ({ headers }: Arrived): Record<string, string> => Object.fromEntries(headers);

export const forwarding: Rows<"forwarding"> = {
  "every method is forwarded": async ({ expect, subject }) => {
    for (const method of ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"]) {
      expect((await subject.arrived("/", { method })).method).toBe(method);
    }
    const head = await subject.ask(ports.workload, "/", { method: "HEAD" });
    expect([head.status, head.text, Number(head.headers["content-length"]) > 0]).toEqual([200, "", true]);
    expect((await subject.ask(ports.workload, "/", { method: "TRACE" })).status).toBe(405);
  },

  "only the right headers are forwarded": async ({ expect, subject, box }) => {
    const sent = {
      host: "router.example",
      "X-Sandbox-Namespace": "default",
      "X-Sandbox-Timeout": "30",
      "X-Sandbox-Token": "spoofed",
      X_Sandbox_Token: "spoofed",
      "Proxy-Authorization": "Basic secret",
      Cookie: "a=1; agent-sandbox-session=secret",
      "X-Forwarded-For": "6.6.6.6",
      "X-Forwarded-Host": "evil",
      "X-Forwarded-Proto": "https",
      Forwarded: "for=6.6.6.6",
      Connection: "X-Hop",
      "X-Hop": "1",
      TE: "gzip",
      "X-Request-ID": "r-1",
      "X-Custom": "kept",
    };
    expect(headersOf(await subject.arrived("/", { headers: sent }))).toEqual({
      host: `${await podAddress(box, subject.name)}:8000`,
      connection: "keep-alive",
      cookie: "a=1",
      "x-request-id": "r-1",
      "x-custom": "kept",
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-host": "router.example",
      "x-forwarded-proto": "http",
    });
  },

  "Authorization is forwarded only on request": async ({ expect, subject }) => {
    const authorization = async (headers: Record<string, string>) =>
      headersOf(await subject.arrived("/", { headers }))["authorization"];
    expect(await authorization({})).toBeUndefined();
    const own = { "X-Sandbox-Authorization": `Bearer ${subject.token}`, Authorization: "Basic app" };
    expect(await authorization(own)).toBe("Basic app");
    expect(await authorization({ "X-Sandbox-Forward-Authorization": "true" })).toBe(`Bearer ${subject.token}`);
  },

  "Origin is forwarded except on upgrades": async ({ expect, subject }) => {
    const headers = { origin: "http://elsewhere.example" };
    expect(headersOf(await subject.arrived("/", { headers }))["origin"]).toBe("http://elsewhere.example");
    const upgraded = await handshake(subject, { ...headers });
    expect(upgraded["origin"]).toBeUndefined();
    expect(upgraded["upgrade"]).toBe("websocket");
  },

  "hop-by-hop headers of a response are removed": async ({ expect, subject }) => {
    const { headers } = await subject.ask(ports.workload, "/hop");
    expect([headers["x-hop"], headers["keep-alive"], headers["x-kept"]]).toEqual([undefined, undefined, "1"]);
  },

  "bodies with a length and in chunks arrive complete": async ({ expect, subject }) => {
    const body = randomBytes(3_000_000);
    const sha256 = createHash("sha256").update(body).digest("hex");
    for (const form of [{ "content-length": body.length }, { "transfer-encoding": "chunked" }]) {
      const arrived = await subject.arrived("/", { method: "POST", body, headers: { ...form } });
      expect(arrived).toMatchObject({ bytes: body.length, sha256 });
    }
  },

  "server-sent events are relayed at once": async ({ expect, subject }) => {
    const response = await open(subject.router, "/events", { headers: subject.headers(ports.workload) });
    const chunks = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    const next = async (): Promise<string> => String((await chunks.next()).value);
    expect(await next()).toBe("data: first\n\n");
    // The second event is sent only now, so the first one was not delayed until then.
    await subject.ask(ports.workload, "/release");
    expect(await next()).toBe("data: second\n\n");
  },

  "a response before the end of the body": async ({ expect, subject }) => {
    const { host, port } = subject.router;
    const headers = { ...subject.headers(ports.workload), "content-length": 50_000_000, expect: "100-continue" };
    const sent = request({ host, port, path: "/early", method: "POST", headers, agent: false });
    sent.on("error", () => undefined);
    // A body that never ends.
    sent.on("continue", () => sent.write(Buffer.alloc(100_000)));
    const [response] = (await once(sent, "response")) as [import("node:http").IncomingMessage];
    expect(response.statusCode).toBe(413);
    sent.destroy();
  },

  "large responses arrive complete": async ({ expect, subject }) => {
    const { body } = await subject.ask(ports.workload, "/large");
    expect([body.length, body.every((byte) => byte === 0x78)]).toEqual([8 << 20, true]);
  },

  "redirects are relayed": async ({ expect, subject }) => {
    const { status, headers } = await subject.ask(ports.workload, "/redirect");
    expect([status, headers.location]).toEqual([302, "http://elsewhere.example/"]);
  },

  "traces are continued": async ({ expect, subject }) => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const arrived = headersOf(await subject.arrived("/", { headers: { traceparent, tracestate: "a=b" } }));
    // The span may be the router's, but the trace is the client's.
    expect(arrived["traceparent"]).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/);
    expect(arrived["tracestate"]).toBe("a=b");
  },

  "HTTP/2 without TLS": async ({ expect, subject }) => {
    const { host, port } = subject.router;
    const session = connect(`http://${host}:${port}`);
    const stream = session.request({ ":path": "/over-h2", ":method": "POST", ...subject.headers(ports.workload) });
    stream.end("body");
    const [head] = (await once(stream, "response")) as [{ ":status": number }];
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    session.close();
    const arrived = jsonOf<Arrived>({ text: Buffer.concat(chunks).toString() } as never);
    expect([head[":status"], arrived.target, arrived.bytes]).toEqual([200, "/over-h2", 4]);
  },
};

/** The headers of a handshake as they arrived. */
async function handshake(at: Subject, headers: Record<string, string>): Promise<Record<string, string>> {
  const { WebSocket } = await import("ws");
  const { host, port } = at.router;
  const socket = new WebSocket(`ws://${host}:${port}/socket`, {
    headers: { ...at.headers(ports.workload), ...headers },
  });
  const [data] = (await once(socket, "message")) as [Buffer];
  socket.close();
  return Object.fromEntries((JSON.parse(data.toString()) as { headers: [string, string][] }).headers);
}
