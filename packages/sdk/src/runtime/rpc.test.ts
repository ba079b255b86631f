import { expect, test } from "vitest";
import { Deadline } from "../deadline.ts";
import type { HttpResponse, SendHttp } from "../http/exchange.ts";
import { Router } from "./router.ts";
import { callStream, callUnary } from "./rpc.ts";

const target = { namespace: "default", name: "box" };

function routerThat(
  answer: (attempt: number) => { status: number; headers?: Record<string, string>; body: Uint8Array[] | string },
): {
  router: Router;
  requests: Parameters<SendHttp>[0][];
} {
  const requests: Parameters<SendHttp>[0][] = [];
  const send: SendHttp = async (request) => {
    requests.push(request);
    const { status, headers = {}, body } = answer(requests.length);
    const chunks = typeof body === "string" ? [new TextEncoder().encode(body)] : body;
    const stream = async function* (): AsyncGenerator<Uint8Array> {
      yield* chunks;
    };
    return { status, header: (name) => headers[name], body: stream() } satisfies HttpResponse;
  };
  const router = new Router(send, {
    url: "http://router",
    authorize: async () => ({ authorization: "Bearer secret-token" }),
  });
  return { router, requests };
}

function call(method: string): Parameters<typeof callUnary>[2] {
  const deadline = new Deadline({}, 5000, "Cannot do it");
  return { doing: "Cannot do it", deadline, method, message: { processId: 1 }, isRepeatable: true };
}

/** A message of a stream: flags, length, JSON. */
function frame(flags: number, message: object): Uint8Array {
  const json = new TextEncoder().encode(JSON.stringify(message));
  const bytes = new Uint8Array(5 + json.length);
  bytes[0] = flags;
  new DataView(bytes.buffer).setUint32(1, json.length);
  bytes.set(json, 5);
  return bytes;
}

async function collect(events: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const event of events) all.push(event);
  return all;
}

test("a stream is read in whatever pieces it arrives", async () => {
  const bytes = [frame(0, { a: 1 }), frame(0, { b: "ü" }), frame(2, {})].flatMap((each) => [...each]);
  for (const size of [1, 3, 7, 1000]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      Uint8Array.from(bytes.slice(i * size, (i + 1) * size)),
    );
    const { router } = routerThat(() => ({ status: 200, body: pieces }));
    expect(await collect(callStream(router, target, call("Start")))).toEqual([{ a: 1 }, { b: "ü" }]);
  }
});

test("a stream without an end is an error", async () => {
  const { router } = routerThat(() => ({ status: 200, body: [frame(0, { a: 1 })] }));
  await expect(collect(callStream(router, target, call("Start")))).rejects.toMatchObject({ reason: "Internal" });
});

test("an error at the end of a stream is reported", async () => {
  const { router } = routerThat(() => ({
    status: 200,
    body: [frame(2, { error: { code: "not_found", message: "no process 7" } })],
  }));
  await expect(collect(callStream(router, target, call("Attach")))).rejects.toMatchObject({
    reason: "NotFound",
    message: "Cannot do it: no process 7",
  });
});

test("a message that claims to be huge is refused", async () => {
  const { router } = routerThat(() => ({ status: 200, body: [Uint8Array.from([0, 255, 255, 255, 255, 1])] }));
  await expect(collect(callStream(router, target, call("Start")))).rejects.toMatchObject({ reason: "Internal" });
});

test.for([
  [404, "SandboxNotFound", "NotFound"],
  [409, "SandboxSuspended", "Suspended"],
  [401, "Unauthenticated", "Unauthenticated"],
  [403, "Forbidden", "Forbidden"],
  [503, "SandboxCrashing", "Failed"],
  [418, "SomethingNew", "Internal"],
] as const)("status %i with reason %s of the router is %s", async ([status, serverReason, reason]) => {
  const { router } = routerThat(() => ({
    status,
    headers: { "x-sandbox-reason": serverReason },
    body: '{"detail":"because"}',
  }));
  await expect(callUnary(router, target, call("List"))).rejects.toMatchObject({
    reason,
    status,
    serverReason,
    message: "Cannot do it: because",
  });
});

test("a repeated request says how old it is, and the first does not", async () => {
  const { router, requests } = routerThat((attempt) =>
    attempt === 1
      ? { status: 502, headers: { "x-sandbox-reason": "BadUpstream" }, body: "{}" }
      : { status: 200, body: "{}" },
  );
  await callUnary(router, target, call("List"));
  expect(requests.map(({ headers }) => Number(headers["x-request-age"] ?? -1) >= 0)).toEqual([false, true]);
});

test("errors do not contain the credential", async () => {
  const { router } = routerThat(() => ({ status: 500, body: "broken" }));
  const error: unknown = await callUnary(router, target, call("List")).catch((caught: unknown) => caught);
  expect(JSON.stringify(error) + String(error)).not.toContain("secret-token");
});
