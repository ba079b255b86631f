import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Pod, runtimeRestPort } from "@agent-sandbox/api";
import { createClient } from "@agent-sandbox/kube";
import { MemoryApiServer } from "@agent-sandbox/kube/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { secrets } from "../resources.ts";
import { type LifecycleReport, runHooks, tellSandboxd } from "./sandboxd-lifecycle.ts";

const token = "a-token-of-enough-length";
/** Only this test file uses the address, so the port of sandboxd is free there. */
const address = "127.83.0.1";
let stack: AsyncDisposableStack;
let api: MemoryApiServer;

const pod: Pod = {
  metadata: { namespace: "default", name: "web" },
  spec: {
    containers: [
      {
        name: "main",
        image: "x",
        volumeMounts: [{ name: "agent-sandbox-token", mountPath: "/run/agent-sandbox-token" }],
      },
    ],
    volumes: [{ name: "agent-sandbox-token", secret: { secretName: "web-runtime" } }],
  },
};

beforeEach(async () => {
  stack = new AsyncDisposableStack();
  api = new MemoryApiServer({ resources: [secrets] });
  await createClient(api).create(secrets, {
    metadata: { namespace: "default", name: "web-runtime" },
    data: { token: Buffer.from(token).toString("base64") },
  });
});
afterEach(() => stack.disposeAsync());

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<void> {
  const server: Server = createServer(answer).listen(runtimeRestPort, address);
  await once(server, "listening");
  stack.defer(() => {
    server.closeAllConnections();
    server.close();
  });
}

function tell(given: Pod = pod, signal?: AbortSignal): Promise<LifecycleReport | undefined> {
  const client = createClient(api);
  return tellSandboxd({ client, pod: given, address, event: "after-fork", ...(signal && { signal }) });
}

describe("the node tells sandboxd about lifecycle events", () => {
  test("with one POST that has the token of the Sandbox", async () => {
    const seen: unknown[] = [];
    await serve(({ method, url, headers }, response) => {
      seen.push([method, url, headers["x-sandbox-token"]]);
      response.end(JSON.stringify({ epoch: 3, failures: ["Hook failed"], expired: true }));
    });
    expect(await tell()).toEqual({ epoch: 3, expired: true, failures: ["Hook failed"] });
    expect(seen).toEqual([["POST", "/v1/lifecycle/after-fork", token]]);
  });

  test.for<[string, Pod]>([
    ["without the volume of the token", { ...pod, spec: { containers: pod.spec?.containers ?? [] } }],
    [
      "whose first container does not mount the token",
      { ...pod, spec: { ...pod.spec, containers: [{ name: "main", image: "x" }, ...(pod.spec?.containers ?? [])] } },
    ],
    ["whose Secret is gone", { ...pod, metadata: { ...pod.metadata, namespace: "other" } }],
  ])("but not in a Pod %s", async ([, given]) => {
    await serve(() => expect.unreachable());
    expect(await tell(given)).toBeUndefined();
  });

  test("and accepts a version of sandboxd without these events", async () => {
    await serve((_, response) => response.writeHead(404).end("404 page not found"));
    expect(await tell()).toBeUndefined();
  });

  test.for<[string, (response: ServerResponse) => unknown, string]>([
    ["a refusal", (response) => response.writeHead(401).end('{"code":"UNAUTHENTICATED"}'), "status 401"],
    ["text", (response) => response.end("hello"), "the answer is not a JSON object"],
    ["null", (response) => response.end("null"), "the answer is not a JSON object"],
    ["no epoch", (response) => response.end("{}"), "the answer has no epoch"],
    ["a negative epoch", (response) => response.end('{"epoch":-1}'), "the answer has no epoch"],
    ["an endless answer", (response) => response.end("x".repeat(1 << 20)), "the answer is longer than"],
    ["long headers", (response) => response.writeHead(200, { x: "x".repeat(20_000) }).end(), "Header overflow"],
    ["a redirect", (response) => response.writeHead(302, { location: "http://127.0.0.1/" }).end(), "status 302"],
    ["a closed connection", (response) => response.destroy(), "socket hang up"],
  ])("and fails for %s", async ([, answer, message]) => {
    await serve((_, response) => void answer(response));
    await expect(tell()).rejects.toThrow(message);
  });

  test("and shortens failures that a tenant wrote", async () => {
    const failures = [...Array.from({ length: 40 }, () => `a\n\u2028b${"x".repeat(1000)}`), 7];
    await serve((_, response) => response.end(JSON.stringify({ epoch: 0, failures })));
    const report = await tell();
    expect(report?.failures).toHaveLength(16);
    expect(new Set(report?.failures.map((line) => line.length <= 512 && /^a b(x+)$/.test(line)))).toEqual(
      new Set([true]),
    );
  });

  test("and fails when nothing listens", async () => {
    await expect(tell()).rejects.toThrow('Cannot tell sandboxd about "after-fork": connect ECONNREFUSED');
  });

  test("and tries again when the sandbox does not accept connections yet", async () => {
    const told = tell();
    await sleep(50);
    await serve((_, response) => response.end('{"epoch":1}'));
    expect(await told).toMatchObject({ epoch: 1 });
  });

  test("and stops waiting when the caller does", async () => {
    const silent = createTcpServer().listen(runtimeRestPort, address);
    await once(silent, "listening");
    stack.defer(() => void silent.close());
    const abort = new AbortController();
    silent.once("connection", () => abort.abort(new Error("the Pod is gone")));
    await expect(tell(pod, abort.signal)).rejects.toThrow("Cannot tell sandboxd");
  });
});

describe("hooks of the user", () => {
  async function events(signal?: AbortSignal): Promise<unknown[]> {
    const recorded: unknown[] = [];
    const call = {
      client: createClient(api),
      pod,
      address,
      event: "before-suspend",
      ...(signal && { signal }),
    } as const;
    await runHooks(call, (_, event) => recorded.push(event));
    return recorded;
  }

  test("that fail become one event", async () => {
    await serve((_, response) => response.end(JSON.stringify({ epoch: 0, failures: ["exit status 1", "no folder"] })));
    expect(await events()).toEqual([{ type: "Warning", reason: "HookFailed", text: "exit status 1; no folder" }]);
  });

  test("that succeed are not reported", async () => {
    await serve((_, response) => response.end('{"epoch":0}'));
    expect(await events()).toEqual([]);
  });

  test("do not hold up the Pod when sandboxd answers with an error", async () => {
    await serve((_, response) => response.writeHead(500).end("broken"));
    const text = 'Cannot tell sandboxd about "before-suspend": status 500: broken';
    expect(await events()).toEqual([{ type: "Warning", reason: "HookFailed", text }]);
  });

  test("end with an error when the caller gives up", async () => {
    await expect(events(AbortSignal.abort(new Error("the Pod is gone")))).rejects.toThrow("the Pod is gone");
  });
});
