import { once } from "node:events";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { WebSocket } from "ws";
import type { Rows } from "../checklist.ts";
import { ports, type Subject } from "../subject.ts";
import { routerWith } from "../world.ts";

/** Opens a WebSocket. The server has sent it the headers of its handshake. */
export async function socketTo(at: Subject, protocols: string[] = []): Promise<WebSocket> {
  const { host, port } = at.router;
  const socket = new WebSocket(`ws://${host}:${port}/socket`, protocols, { headers: at.headers(ports.workload) });
  await once(socket, "message");
  return socket;
}

async function refusalOf(at: Subject, path: string, headers: Record<string, string>): Promise<number> {
  const { host, port } = at.router;
  const socket = new WebSocket(`ws://${host}:${port}${path}`, { headers });
  socket.on("error", () => undefined);
  const [, response] = (await once(socket, "unexpected-response")) as [unknown, { statusCode: number }];
  socket.terminate();
  return response.statusCode;
}

export const connections: Rows<"connections"> = {
  "a WebSocket, its protocol and its close code": async ({ expect, subject }) => {
    const socket = await socketTo(subject, ["chat"]);
    expect(socket.protocol).toBe("chat");
    const large = Buffer.alloc(300_000, 7);
    socket.send(large);
    const [data] = (await once(socket, "message")) as [Buffer];
    expect(data.equals(large)).toBe(true);
    socket.close(4001, "done");
    expect(await once(socket, "close")).toEqual([4001, Buffer.from("done")]);
  },

  "a WebSocket outlives the request timeout, a request does not": async (world) => {
    const { expect } = world;
    await using quick = await routerWith(world, { timeoutMs: 300 });
    const { name } = world.subject;
    const socket = await socketTo(quick.subject);
    const { status, text } = await quick.subject.ask(ports.workload, "/never");
    expect([status, JSON.parse(text)]).toEqual([
      504,
      { detail: `Timed out waiting for the backend sandbox: ${name}`, reason: "Timeout" },
    ]);
    socket.send("still here");
    expect(String((await once(socket, "message"))[0])).toBe("still here");
    socket.close();
  },

  "a refused handshake is relayed": async ({ expect, subject }) => {
    const { host, port } = subject.router;
    const headers = { ...subject.headers(ports.workload), connection: "Upgrade", upgrade: "other" };
    const sent = request({ host, port, path: "/socket", headers, agent: false }).end();
    const [response] = (await once(sent, "response")) as [import("node:http").IncomingMessage];
    expect(response.statusCode).toBe(426);
    response.resume();
  },

  "a handshake without a sandbox is refused": async ({ expect, subject }) => {
    const { authorization } = { authorization: `Bearer ${subject.token}` };
    expect(await refusalOf(subject, "/", { authorization })).toBe(400);
    expect(await refusalOf(subject, "/", { authorization, "x-sandbox-id": "no-such" })).toBe(404);
    expect(await refusalOf(subject, "/", { "x-sandbox-id": subject.name })).toBe(401);
  },

  "CONNECT and TCP listeners": async (world) => {
    const { expect } = world;
    const { subject } = world;
    const { host, port } = subject.router;
    const path = `${subject.name}.default.localhost:8000`;
    const headers = { "proxy-authorization": `Bearer ${subject.token}` };
    const sent = request({ host, port, method: "CONNECT", path, headers }).end();
    const [response, tunnel] = (await once(sent, "connect")) as [{ statusCode: number }, Socket];
    expect(response.statusCode).toBe(200);
    expect(await rawGet(tunnel, "/through-the-tunnel")).toContain("/through-the-tunnel");
    await using own = await routerWith(world, {});
    const listener = await own.router.listenTcp({ namespace: "default", name: subject.name, port: 8000 }, { port: 0 });
    const socket = connect(listener.address.port, listener.address.host);
    expect(await rawGet(socket, "/by-tcp")).toContain("/by-tcp");
  },
};

async function rawGet(socket: Socket, target: string): Promise<string> {
  socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
