import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { type LoggedIn, logIn, otherToken, startWithUser, userToken } from "./upstream.test.support.ts";

let stack: AsyncDisposableStack;
beforeEach(() => {
  stack = new AsyncDisposableStack();
});
afterEach(() => stack.disposeAsync());

interface Received {
  readonly id: number;
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly data?: string;
  readonly end?: boolean;
  readonly message?: string;
}

/** A page that has opened its WebSocket, and what it has received. */
async function startPage(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const world = await startWithUser(stack, answer);
  const { host, port } = new URL(world.dashboard.url);
  const { cookie, requestToken } = world.user;
  const headers = { host, cookie, origin: `http://${host}` };
  const socket = new WebSocket(`ws://127.0.0.1:${port}/streams`, { headers });
  stack.defer(() => socket.terminate());
  await once(socket, "open");
  const received: Received[] = [];
  socket.on("message", (data: Buffer) => received.push(JSON.parse(data.toString()) as Received));
  const send = (message: object): void => socket.send(JSON.stringify(message));
  send({ token: requestToken });
  const bytes = (): Buffer => Buffer.concat(received.map(({ data = "" }) => Buffer.from(data, "base64")));
  const end = async (): Promise<Received | undefined> => {
    const find = (): Received | undefined => received.find((message) => message.end === true);
    await expect.poll(find).toBeDefined();
    return find();
  };
  return { ...world, send, received, bytes, end };
}

const call = { path: "/process.v1.ProcessService/Start", headers: {}, body: "" };
const content = Buffer.from([0, 1, 254, 255, 10]);

describe("a call of the runtime API over the WebSocket", () => {
  test("is a POST with the user's token, and its response is relayed as bytes", async () => {
    const page = await startPage((_request, response) => {
      response.writeHead(200, { "content-type": "application/connect+json", "set-cookie": "planted" });
      response.write(content);
      response.end(content);
    });
    const headers = {
      authorization: "Bearer of-the-page",
      cookie: "x",
      "content-length": "9999",
      "content-type": "application/connect+json",
      "impersonate-user": "admin",
      "x-sandbox-id": "web",
    };
    page.send({ open: 7, runtime: { ...call, headers, body: Buffer.from("body").toString("base64") } });
    expect(await page.end()).toEqual({ id: 7, end: true });
    expect(page.received[0]).toEqual({ id: 7, status: 200, headers: { "content-type": "application/connect+json" } });
    expect(page.bytes()).toEqual(Buffer.concat([content, content]));
    const got = page.router.received.at(-1);
    expect([got?.url, got?.body]).toEqual([call.path, "body"]);
    expect(got?.headers).toMatchObject({
      authorization: `Bearer ${userToken}`,
      "content-length": "4",
      "x-sandbox-id": "web",
    });
    expect(Object.keys(got?.headers ?? {})).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/cookie|imperson/)]),
    );
  });

  test("arrives piece by piece, also if a piece ends within three bytes of base64", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const page = await startPage((_request, response) => {
      response.write(content);
      void promise.then(() => response.end());
    });
    page.send({ open: 1, runtime: call });
    await expect.poll(() => page.bytes()).toEqual(content);
    resolve();
    await page.end();
  });

  test("waits for a page that does not use what it has received", async () => {
    const size = 8 * 1024 * 1024;
    const page = await startPage((_request, response) => void response.end(Buffer.alloc(size)));
    page.send({ open: 1, runtime: call });
    const most = 1024 * 1024;
    await expect.poll(() => page.bytes().length).toBeGreaterThan(most);
    // A later stream is answered, so the first one waits.
    page.send({ open: 2, path: "/version" });
    await expect.poll(() => page.received.some(({ id, end }) => id === 2 && end === true)).toBe(true);
    expect(page.bytes().length).toBeLessThan(size / 2);
    let reported = 0;
    const report = setInterval(() => {
      const now = page.bytes().length;
      if (now > reported) page.send({ read: { id: 1, bytes: now - reported } });
      reported = now;
    }, 5);
    stack.defer(() => clearInterval(report));
    await expect.poll(() => page.received.some(({ id, end }) => id === 1 && end === true)).toBe(true);
    expect(page.bytes().length).toBe(size);
  });

  test("tells the page that the connection to the sandbox was lost", async () => {
    const page = await startPage((_request, response) => {
      response.write(content);
      setImmediate(() => response.destroy());
    });
    page.send({ open: 1, runtime: call });
    expect((await page.end())?.message).toBeDefined();
  });

  test.for([
    { ...call, path: "/sandboxes/default/web/8000/" },
    { ...call, path: "//evil.example/" },
    { ...call, path: "http://evil.example/" },
    { ...call, path: "/.agent-sandbox/x" },
    { ...call, path: 1 },
    { ...call, headers: null },
    { ...call, headers: { "x-sandbox-id": ["a", "b"] } },
    { ...call, headers: { "x-sandbox-id": "a\r\nauthorization: Bearer x" } },
    { ...call, body: {} },
    { path: call.path },
    null,
    "x",
  ])("is refused: %j", async (runtime) => {
    const page = await startPage((_request, response) => void response.end());
    const before = page.router.received.length + page.api.received.length;
    page.send({ open: 1, runtime });
    expect((await page.end())?.message).toBeDefined();
    expect(page.router.received.length + page.api.received.length).toBe(before);
  });
});

test("a user has a limited number of WebSockets, in all sessions together, and others are not affected", async () => {
  const { dashboard, user } = await startWithUser(stack, (_request, response) => void response.end());
  const { host, port } = new URL(dashboard.url);
  const open = async ({ cookie }: LoggedIn): Promise<WebSocket | number | undefined> => {
    const headers = { host, cookie, origin: `http://${host}` };
    const socket = new WebSocket(`ws://127.0.0.1:${port}/streams`, { headers });
    stack.defer(() => socket.terminate());
    socket.on("error", () => undefined);
    const refused = once(socket, "unexpected-response").then(
      ([, response]) => (response as IncomingMessage).statusCode,
    );
    return await Promise.race([once(socket, "open").then(() => socket), refused]);
  };
  const mallory = [await logIn(dashboard, otherToken), await logIn(dashboard, otherToken)];
  const opened = await Promise.all(
    Array.from({ length: 70 }, (_, index) => open((mallory[index % 2] ?? mallory[0])!.user)),
  );
  const sockets = opened.filter((each) => each instanceof WebSocket);
  expect([sockets.length, opened.filter((each) => each === 429).length]).toEqual([64, 6]);
  expect(await open(user)).toBeInstanceOf(WebSocket);
  sockets[0]?.terminate();
  await expect.poll(() => open(mallory[0]!.user)).toBeInstanceOf(WebSocket);
});
