import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import type { Socket } from "node:net";
import { duplexPair } from "node:stream";
import { text } from "node:stream/consumers";
import type { PodSessions, SessionTarget } from "@agent-sandbox/kube";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { type ApiServer, createApiServer, type Listening } from "../index.ts";
import { FakePodStreams } from "./fake-pod-streams.test.support.ts";

const namespace = "/api/v1/namespaces/default";

/** Records which sessions are open. A test decides what happens before one begins. */
class FakeSessions implements PodSessions {
  readonly open: string[] = [];
  readonly begun: string[] = [];
  beforeBegin: (signal: AbortSignal) => Promise<void> = () => Promise.resolve();

  async begin({ resource, name, object }: SessionTarget, signal: AbortSignal): Promise<Disposable> {
    const session = `${resource}/${name}${object === undefined ? " (absent)" : ""}`;
    this.begun.push(session);
    await this.beforeBegin(signal);
    this.open.push(session);
    return { [Symbol.dispose]: () => void this.open.splice(this.open.indexOf(session), 1) };
  }
}

let server: ApiServer;
let listening: Listening;
let viewer: string;
const podStreams = new FakePodStreams();
const podSessions = new FakeSessions();

const send = (method: "POST" | "PATCH", path: string, body: object) => {
  const headers = { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json" };
  return server.transport.send({ method, path, headers, body });
};

async function createPod(name: string): Promise<void> {
  const spec = { containers: [{ name: "main", image: "busybox", ports: [{ containerPort: 80 }] }] };
  await send("POST", `${namespace}/pods`, { metadata: { name, labels: { app: name } }, spec });
  const state = { name: "main", ready: true, restartCount: 0, image: "", imageID: "", state: { running: {} } };
  const conditions = [{ type: "Ready", status: "True" }];
  const status = { phase: "Running", conditions, containerStatuses: [state] };
  await send("PATCH", `${namespace}/pods/${name}/status`, { status });
}

beforeAll(async () => {
  server = await createApiServer({ podStreams, podSessions, nodeName: "box" });
  listening = await server.listen();
  await createPod("p");
  await send("POST", `${namespace}/services`, {
    metadata: { name: "web" },
    spec: { selector: { app: "p" }, ports: [{ port: 80 }] },
  });
  await send("POST", `${namespace}/serviceaccounts`, { metadata: { name: "viewer" } });
  await send("POST", `/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings`, {
    metadata: { name: "viewer" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
    subjects: [{ kind: "ServiceAccount", name: "viewer", namespace: "default" }],
  });
  const { body } = await send("POST", `${namespace}/serviceaccounts/viewer/token`, { spec: {} });
  viewer = (body as { status: { token: string } }).status.token;
});
afterAll(() => server.close());
beforeEach(() => {
  podSessions.begun.length = 0;
  podSessions.beforeBegin = () => Promise.resolve();
});

const options = (token: string) => ({ ca: listening.authority, headers: { authorization: `Bearer ${token}` } });

const socketTo = (path: string, token = listening.token): WebSocket =>
  new WebSocket(
    `wss://127.0.0.1:${listening.port}${namespace}/${path}`,
    ["v5.channel.k8s.io", "v4.channel.k8s.io"],
    options(token),
  );

async function get(path: string, token = listening.token): Promise<IncomingMessage> {
  const sent = request(`${listening.url}${namespace}/${path}`, { ...options(token), agent: false }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return response;
}

/** The status that an upgrade was refused with. */
async function refusal(socket: WebSocket): Promise<{ code: number; message: string }> {
  const [, response] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
  return JSON.parse(await text(response)) as { code: number; message: string };
}

async function allEnded(): Promise<void> {
  await expect.poll(() => podSessions.open).toEqual([]);
}

describe("a session with a Pod", () => {
  test.for([
    ["exec", "pods/p/exec?command=wait&stdout=true"],
    ["attach", "pods/p/attach?stdout=true"],
    ["port-forward", "pods/p/portforward?ports=80"],
  ])("lasts as long as %s does (SLEEP-23)", async ([, path = ""]) => {
    const socket = socketTo(path);
    await once(socket, "open");
    expect(podSessions.open).toEqual(["pods/p"]);
    socket.close();
    await allEnded();
  });

  test("lasts as long as a log is followed (SLEEP-23)", async () => {
    const response = await get("pods/p/log?follow=true");
    expect(podSessions.open).toEqual(["pods/p"]);
    response.destroy();
    await allEnded();
  });

  test("lasts as long as a proxied request, with a Service and with the Pod behind it (SLEEP-23)", async () => {
    const [connection, pod] = duplexPair();
    podStreams.dialled = connection;
    const answer = get("services/web/proxy/");
    await expect.poll(() => podSessions.open).toEqual(["services/web", "pods/p"]);
    pod.end("HTTP/1.1 204 No Content\r\n\r\n");
    expect((await answer).statusCode).toBe(204);
    podStreams.dialled = undefined;
    await allEnded();
  });

  test("waits for the Pod to be there", async () => {
    podSessions.beforeBegin = () => createPod("late");
    const socket = socketTo("pods/late/exec?command=wait&stdout=true");
    await once(socket, "open");
    expect([podSessions.begun, podSessions.open]).toEqual([["pods/late (absent)"], ["pods/late (absent)"]]);
    socket.close();
    await allEnded();
  });

  test("ends at once when the Pod is still missing", async () => {
    expect(await refusal(socketTo("pods/absent/exec?command=wait&stdout=true"))).toMatchObject({ code: 404 });
    await allEnded();
  });

  test("that cannot begin is refused with the reason", async () => {
    podSessions.beforeBegin = () =>
      Promise.reject(Object.assign(new Error('sandbox "p" is not running'), { reason: "ServiceUnavailable" }));
    expect(await refusal(socketTo("pods/p/exec?command=wait&stdout=true"))).toMatchObject({
      code: 503,
      message: 'sandbox "p" is not running',
    });
    expect((await get("pods/p/log?follow=true")).statusCode).toBe(503);
    expect((await get("pods/p/proxy/")).statusCode).toBe(503);
  });

  test.for([
    ["closes its connection", (socket: Socket) => socket.end()],
    ["breaks its connection off", (socket: Socket) => socket.destroy()],
  ] as const)("does not begin for a client that %s while it waits, and runs nothing", async ([, leave]) => {
    const gone = Promise.withResolvers<void>();
    podSessions.beforeBegin = (signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          gone.resolve();
          reject(signal.reason as Error);
        });
      });
    const count = podStreams.sessions.length;
    const path = `${listening.url}${namespace}/pods/p/exec?command=wait&stdout=true`;
    const headers = { ...options(listening.token).headers, connection: "Upgrade", upgrade: "SPDY/3.1" };
    const sent = request(path, { ca: listening.authority, headers, agent: false }).on("error", () => undefined);
    sent.end();
    const [socket] = (await once(sent, "socket")) as [Socket];
    await expect.poll(() => podSessions.begun).toEqual(["pods/p"]);
    leave(socket);
    await gone.promise;
    expect([podSessions.open, podStreams.sessions.length]).toEqual([[], count]);
  });
});

describe("no session begins", () => {
  test("for a request that is not authorised", async () => {
    for (const path of ["exec?command=wait&stdout=true", "attach?stdout=true", "portforward?ports=80", "proxy/"]) {
      expect(await refusal(socketTo(`pods/p/${path}`, viewer))).toMatchObject({ code: 403 });
    }
    expect((await get("pods/p/proxy/", viewer)).statusCode).toBe(403);
    expect((await get("services/web/proxy/", viewer)).statusCode).toBe(403);
    expect(podSessions.begun).toEqual([]);
  });

  test("for a reader who follows a log and may not run commands (SLEEP-26)", async () => {
    const response = await get("pods/p/log?follow=true", viewer);
    expect([response.statusCode, podSessions.begun]).toEqual([200, []]);
    response.destroy();
  });

  test("for a log that is not followed, or for a read of the Pod (SLEEP-26)", async () => {
    expect((await get("pods/p/log")).statusCode).toBe(200);
    expect((await get("pods/p")).statusCode).toBe(200);
    expect((await get("pods/p/exec?command=wait&stdout=true")).statusCode).toBe(400);
    expect(podSessions.begun).toEqual([]);
  });
});
