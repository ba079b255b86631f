import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask, type Served, TestCluster, toSandbox } from "./cluster.test.support.ts";
import type { Router } from "./start-router.ts";

const cluster = new TestCluster();
let router: Router;
let pod: Served;
let answer: (request: IncomingMessage, response: ServerResponse) => void = echo;

/** Responds with the request that arrived. */
function echo(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const { method, url, rawHeaders } = request;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ method, url, rawHeaders, body: Buffer.concat(chunks).toString() }));
  });
}

interface Arrived {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: string[];
  readonly body: string;
}

function headersOf(arrived: Arrived): Record<string, string> {
  const entries = arrived.rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [[name.toLowerCase(), arrived.rawHeaders[index + 1] ?? ""] as const] : [],
  );
  return Object.fromEntries(entries);
}

beforeAll(async () => {
  pod = await cluster.serve((request, response) => answer(request, response));
  await cluster.pod(await cluster.sandbox("box"), pod.ip);
  router = await cluster.router({ maxBodyBytes: 5_000_000 });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const arrivedAt = async (path: string, options: Parameters<typeof ask>[2]): Promise<Arrived> => {
  answer = echo;
  return JSON.parse((await ask(router, path, options)).text) as Arrived;
};

describe("naming the sandbox", () => {
  test("reports a missing sandbox and each invalid header with the established messages", async () => {
    const bodies = await Promise.all(
      [
        {},
        { "X-Sandbox-ID": "Not.A.Label" },
        { "X-Sandbox-ID": "box", "X-Sandbox-Namespace": "a/b" },
        { "X-Sandbox-ID": "box", "X-Sandbox-Port": "http" },
        { "X-Sandbox-ID": "box", "X-Sandbox-Pod-IP": "169.254.169.254" },
      ].map(async (headers) => {
        const { status, text, headers: sent } = await ask(router, "/execute", { headers });
        return [status, text, sent["content-type"]];
      }),
    );
    expect(bodies).toEqual([
      [400, '{"detail":"X-Sandbox-ID header is required."}', "application/json"],
      [400, '{"detail":"Invalid sandbox ID format."}', "application/json"],
      [400, '{"detail":"Invalid namespace format."}', "application/json"],
      [400, '{"detail":"Invalid port format."}', "application/json"],
      [400, '{"detail":"Invalid target IP address."}', "application/json"],
    ]);
  });

  test("routes by header, host and path", async () => {
    const byHost = await arrivedAt("/a?b=1", { headers: { host: `${pod.port}-box.default.localhost:8080` } });
    const byPath = await arrivedAt(`/sandboxes/default/box/${pod.port}/a?b=1`, {});
    const byHeader = await arrivedAt("/a?b=1", toSandbox("box", pod.port));
    expect([byHost.url, byPath.url, byHeader.url]).toEqual(["/a?b=1", "/a?b=1", "/a?b=1"]);
  });

  test("reports an unknown sandbox without waiting", async () => {
    const { status, text } = await ask(router, "/", toSandbox("does-not-exist", 80));
    expect([status, JSON.parse(text)]).toEqual([
      404,
      { detail: "Sandbox not found: does-not-exist", reason: "SandboxNotFound" },
    ]);
  });

  test("ignores X-Sandbox-Pod-IP unless it is an address of the sandbox", async () => {
    for (const ip of ["10.255.255.1", pod.ip.replace(/\d+$/, "253")]) {
      const { status } = await ask(
        router,
        "/",
        toSandbox("box", pod.port, { "X-Sandbox-Pod-IP": ip.replace(/^127/, "11") }),
      );
      expect(status).toBe(200);
    }
  });

  test("requires the Sandbox to have the UID in X-Sandbox-UID", async () => {
    const { metadata } =
      cluster.api.read((await import("@agent-sandbox/api")).sandboxes, { namespace: "default", name: "box" }) ?? {};
    const right = await ask(router, "/", toSandbox("box", pod.port, { "X-Sandbox-UID": metadata?.uid ?? "" }));
    const wrong = await ask(router, "/", toSandbox("box", pod.port, { "X-Sandbox-UID": "other" }));
    expect([right.status, wrong.status]).toEqual([200, 404]);
  });

  test("serves its own /healthz only if no sandbox is named", async () => {
    const { status, text } = await ask(router, "/healthz");
    expect([status, text]).toEqual([200, '{"status":"ok"}']);
    expect((await arrivedAt("/healthz", toSandbox("box", pod.port))).url).toBe("/healthz");
  });
});

describe("forwarding the request", () => {
  test.for(["/a%2Fb/%2e%2e/c", "//double//slash", "/a/../b/./c", "/v1/files/%2Fworkspace%2Fa?x=%00", "/%ff?a=b&a=c#d"])(
    "keeps %s byte for byte",
    async (path) => {
      expect((await arrivedAt(path, toSandbox("box", pod.port))).url).toBe(path);
    },
  );

  test.for(["GET", "HEAD", "OPTIONS", "DELETE", "PATCH", "PROPFIND"])("passes %s on", async (method) => {
    answer = (request, response) => response.setHeader("x-method", request.method ?? "").end();
    const { headers } = await ask(router, "/", { method, ...toSandbox("box", pod.port) });
    expect(headers["x-method"]).toBe(method);
  });

  test("refuses TRACE", async () => {
    expect((await ask(router, "/", { method: "TRACE", ...toSandbox("box", pod.port) })).status).toBe(405);
  });

  test("forwards the client's headers and adds the router's own", async () => {
    const arrived = headersOf(
      await arrivedAt("/", {
        headers: {
          host: "router.example",
          "X-Sandbox-ID": "box",
          "X-Sandbox-Port": String(pod.port),
          "X-Sandbox-Token": "spoofed",
          X_Sandbox_Token: "spoofed",
          Authorization: "Bearer secret",
          "Proxy-Authorization": "Bearer secret",
          Cookie: "a=1; agent-sandbox-session=secret",
          "X-Forwarded-For": "6.6.6.6",
          "X-Forwarded-Host": "evil",
          "X-Forwarded-Proto": "https",
          Forwarded: "for=6.6.6.6",
          Connection: "X-Hop",
          "X-Hop": "1",
          TE: "gzip",
          Origin: "http://elsewhere",
          "X-Request-ID": "r-1",
          "X-Custom": "kept",
        },
      }),
    );
    expect(arrived).toEqual({
      host: `${pod.ip}:${pod.port}`,
      connection: "keep-alive",
      cookie: "a=1",
      origin: "http://elsewhere",
      "x-request-id": "r-1",
      "x-custom": "kept",
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-host": "router.example",
      "x-forwarded-proto": "http",
    });
  });

  test("forwards Authorization if the client asks for it", async () => {
    const asked = { Authorization: "Basic app", "X-Sandbox-Forward-Authorization": "true" };
    const other = { Authorization: "Basic app", "X-Sandbox-Authorization": "Bearer router" };
    for (const headers of [asked, other]) {
      const arrived = headersOf(await arrivedAt("/", toSandbox("box", pod.port, headers)));
      expect([arrived["authorization"], arrived["x-sandbox-authorization"]]).toEqual(["Basic app", undefined]);
    }
  });

  test("streams bodies with a length and in chunks", async () => {
    const body = "x".repeat(3_000_000);
    const sized = await arrivedAt("/", {
      method: "POST",
      body,
      headers: { ...toSandbox("box", pod.port).headers, "content-length": body.length },
    });
    const chunked = await arrivedAt("/", {
      method: "POST",
      body,
      headers: { ...toSandbox("box", pod.port).headers, "transfer-encoding": "chunked" },
    });
    expect([sized.body.length, chunked.body.length]).toEqual([body.length, body.length]);
    expect([headersOf(sized)["content-length"], headersOf(chunked)["transfer-encoding"]]).toEqual([
      String(body.length),
      "chunked",
    ]);
  });

  test.for(["content-length", "transfer-encoding"])("hands a body on as it comes, by %s", async (framing) => {
    const { request } = await import("node:http");
    const pieces: string[] = [];
    let heard = Promise.withResolvers<void>();
    answer = (seen, response) => {
      seen.on("data", (piece: Buffer) => {
        pieces.push(piece.toString());
        heard.resolve();
      });
      seen.on("end", () => response.end("all"));
    };
    const length = framing === "content-length" ? { [framing]: "9" } : { [framing]: "chunked" };
    const { headers } = toSandbox("box", pod.port, length);
    const asked = request({ ...router.address, method: "POST", headers, agent: false });
    const answered = once(asked, "response") as Promise<[IncomingMessage]>;
    for (const piece of ["one", "two", "six"]) {
      heard = Promise.withResolvers<void>();
      asked.write(piece);
      // The next piece is sent only after the sandbox has received this one.
      await heard.promise;
    }
    asked.end();
    (await answered)[0].resume();
    expect(pieces).toEqual(["one", "two", "six"]);
  });

  test("refuses a body that is too large, with and without Content-Length", async () => {
    answer = echo;
    const body = "x".repeat(5_000_001);
    const { headers } = toSandbox("box", pod.port);
    const announced = await ask(router, "/", {
      method: "POST",
      body,
      headers: { ...headers, "content-length": body.length },
    });
    const found = await ask(router, "/", {
      method: "POST",
      body,
      headers: { ...headers, "transfer-encoding": "chunked" },
    });
    expect([announced.status, found.status]).toEqual([413, 413]);
  });
});

describe("relaying the response", () => {
  test("relays the response unchanged", async () => {
    const body = gzipSync("hello");
    answer = (_, response) => {
      response.sendDate = false;
      response.writeHead(203, "Sort Of", [
        "Content-Encoding",
        "gzip",
        "Content-Length",
        String(body.length),
        "Set-Cookie",
        "a=1",
        "Set-Cookie",
        "b=2",
        "Set-Cookie",
        "agent-sandbox-session=stolen",
        "Location",
        "http://10.0.0.1/x",
        "Connection",
        "X-Hop",
        "X-Hop",
        "1",
      ]);
      response.end(body);
    };
    const { status, rawHeaders } = await ask(router, "/", toSandbox("box", pod.port));
    expect(status).toBe(203);
    expect(rawHeaders).toEqual([
      "Content-Encoding",
      "gzip",
      "Content-Length",
      String(body.length),
      "Set-Cookie",
      "a=1",
      "Set-Cookie",
      "b=2",
      "Location",
      "http://10.0.0.1/x",
      "Connection",
      "close",
    ]);
  });

  test("relays the response before it is complete", async () => {
    const { promise, resolve } = Promise.withResolvers<ServerResponse>();
    answer = (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
      resolve(response);
    };
    const { request } = await import("node:http");
    const { host, port } = router.address ?? {};
    const asked = request({ host, port, path: "/events", ...toSandbox("box", pod.port) }).end();
    const [events] = (await once(asked, "response")) as [IncomingMessage];
    const source = await promise;
    for (const text of ["data: 1\n\n", "data: 2\n\n"]) {
      source.write(text);
      const [chunk] = (await once(events, "data")) as [Buffer];
      expect(chunk.toString()).toBe(text);
    }
    source.end();
    await once(events, "end");
  });

  test("aborts the response if the sandbox aborts it", async () => {
    answer = (_, response) => {
      response.writeHead(200, { "content-length": 100 });
      response.write("half", () => response.destroy());
    };
    await expect(ask(router, "/", toSandbox("box", pod.port))).rejects.toThrow(/aborted|hang up|ECONNRESET/);
  });

  test.for(["GET", "POST"])("says so when there was none to %s, and does not ask again", async (method) => {
    let times = 0;
    answer = (request) => {
      times += 1;
      request.socket.destroy();
    };
    const { status, text } = await ask(router, "/", { method, ...toSandbox("box", pod.port) });
    expect([status, JSON.parse(text)]).toEqual([
      502,
      { detail: "The connection to the backend sandbox was lost: box", reason: "BadUpstream" },
    ]);
    expect(times).toBe(1);
  });

  test("sends 504 if the sandbox makes no progress for the requested time", async () => {
    answer = () => undefined;
    const { status, text } = await ask(router, "/", toSandbox("box", pod.port, { "X-Sandbox-Timeout": "0.05" }));
    expect([status, JSON.parse(text)]).toEqual([
      504,
      { detail: "Timed out waiting for the backend sandbox: box", reason: "Timeout" },
    ]);
  });

  test("ends the request in the sandbox when the client disconnects", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { request } = await import("node:http");
    const { host, port } = router.address ?? {};
    const asked = request({ host, port, path: "/", ...toSandbox("box", pod.port) });
    asked.on("error", () => undefined);
    answer = (seen, response) => {
      response.on("close", resolve);
      expect(seen.url).toBe("/");
      asked.destroy();
    };
    asked.end();
    await promise;
  });

  test("distinguishes a closed port from an unreachable host", async () => {
    const quick = await cluster.router({ retries: { max: 1, firstDelayMs: 1 }, dialMs: 100 });
    const { status, text, headers } = await ask(quick, "/", toSandbox("box", 1));
    expect([status, JSON.parse(text), headers["x-sandbox-reason"]]).toEqual([
      502,
      { detail: "Could not connect to the backend sandbox: box", reason: "Refused" },
      "Refused",
    ]);
    expect(await quick.metrics()).toMatch(/sandbox_router_upstream_retries_total\{sandbox_namespace="default"\} 1/);
  });
});
