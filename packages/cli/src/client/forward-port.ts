import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Connection } from "./connect.ts";
import { openSocket } from "./pod-socket.ts";
import { podPath, type SandboxPod, sessionError } from "./sandbox-pod.ts";

/** One connection per WebSocket. Channel 0 carries data, channel 1 errors. */
const protocol = "v4.channel.k8s.io";
const channels = { data: 0, error: 1 } as const;
/** The first message of each channel starts with the port number. */
const portBytes = 2;
/** Enough for a browser. Further connections are refused. */
const mostConnections = 200;

export interface ForwardedPort extends AsyncDisposable {
  /** The local address, as in `127.0.0.1:8080`. */
  readonly address: string;
  readonly port: number;
}

export interface PortChoice {
  /** 0 for any free port. */
  readonly local: number;
  readonly remote: number;
  /** Local address to listen on. Default: 127.0.0.1. */
  readonly address?: string;
}

/** Forwards a local port to a port of a Pod until it is disposed. Problems of single connections are printed. */
export async function forwardPort(
  connection: Connection,
  namespace: string,
  pod: SandboxPod,
  { local, remote, address: host = "127.0.0.1" }: PortChoice,
): Promise<ForwardedPort> {
  const path = `${podPath(namespace, pod.name, "portforward")}?ports=${remote}`;
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    forward(connection, path, socket).catch((error: unknown) => {
      const explained = sessionError(error, pod);
      console.error(explained instanceof Error ? explained.message : String(explained));
      socket.destroy();
    });
  });
  server.maxConnections = mostConnections;
  server.listen(local, host);
  await once(server, "listening");
  const { address, port } = server.address() as AddressInfo;
  return {
    address: `${address.includes(":") ? `[${address}]` : address}:${port}`,
    port,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

async function forward({ access }: Connection, path: string, local: Socket): Promise<void> {
  local.on("error", () => local.destroy());
  const socket = await openSocket(access, path, protocol);
  socket.on("error", () => local.destroy());
  socket.once("close", () => local.end());
  local.once("close", () => socket.close());
  receive(socket, local);
  local.on("data", (chunk: Buffer) => {
    local.pause();
    socket.send(Buffer.concat([Buffer.of(channels.data), chunk]), () => local.resume());
  });
  local.resume();
}

function receive(socket: WebSocket, local: Socket): void {
  const begun = new Set<number>();
  socket.on("message", (message: Buffer) => {
    const [channel = channels.error] = message;
    const content = message.subarray(1 + (begun.has(channel) ? 0 : portBytes));
    begun.add(channel);
    if (content.length === 0) return;
    if (channel === channels.error) console.error(content.toString());
    else if (!local.write(content)) {
      socket.pause();
      local.once("drain", () => socket.resume());
    }
  });
}
