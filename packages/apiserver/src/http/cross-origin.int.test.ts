import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApiServer, type Listening } from "../index.ts";

const app = "https://app.example";
const path = "/apis/agents.x-k8s.io/v1beta1/namespaces/default/sandboxes";
const stack = new AsyncDisposableStack();
let open: Listening;
/** Without allowed origins. */
let closed: Listening;

beforeAll(async () => {
  open = await stack.use(await createApiServer({ allowedOrigins: [app] })).listen();
  closed = await stack.use(await createApiServer()).listen();
});
afterAll(() => stack.disposeAsync());

/** The status and the CORS headers of the response. */
async function send(
  { port, authority }: Listening,
  headers: Record<string, string>,
  { method = "GET", target = path } = {},
): Promise<[status: number | undefined, headers: object]> {
  const sent = request({ host: "127.0.0.1", port, ca: authority, path: target, agent: false, headers, method }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  response.resume();
  const cors = Object.entries(response.headers).filter(([name]) => name.startsWith("access-control-"));
  return [response.statusCode, Object.fromEntries(cors)];
}

const preflight = (origin: string) => ({ Origin: origin, "Access-Control-Request-Method": "PATCH" });
const asked = { method: "OPTIONS" };

test("pages of an allowed origin may call the API with a token", async () => {
  expect(await send(open, preflight(app), asked)).toEqual([
    204,
    {
      "access-control-allow-origin": app,
      "access-control-allow-methods": "DELETE, GET, PATCH, POST",
      "access-control-allow-headers": "authorization, content-type, traceparent, tracestate",
      "access-control-max-age": "600",
    },
  ]);
  const readable = { "access-control-allow-origin": app };
  expect(await send(open, { Origin: app, Authorization: `Bearer ${open.token}` })).toEqual([200, readable]);
  expect(await send(open, { Origin: app })).toEqual([401, readable]);
});

test.for(["https://evil.example", "null", `${app}.evil.example`])("pages of %j may not", async (origin) => {
  const credential = { Authorization: `Bearer ${open.token}` };
  expect(await send(open, preflight(origin), asked)).toEqual([401, {}]);
  expect(await send(open, { Origin: origin, ...credential })).toEqual([200, {}]);
});

test("the answer of a Pod through the proxy gets no headers", async () => {
  const target = "/api/v1/namespaces/default/pods/web/proxy/";
  expect((await send(open, { Origin: app }, { target }))[1]).toEqual({});
  expect((await send(open, preflight(app), { target, ...asked }))[1]).toEqual({});
});

test("no page may call the API unless its origin is allowed", async () => {
  expect(await send(closed, preflight(app), asked)).toEqual([401, {}]);
  expect(await send(closed, { Origin: app, Authorization: `Bearer ${closed.token}` })).toEqual([200, {}]);
});
