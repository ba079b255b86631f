import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { WebSocket } from "ws";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { fetchJson } from "../client/discovery.ts";
import { openSocket } from "../client/pod-socket.ts";
import { podOf, podPath, sessionError } from "../client/sandbox-pod.ts";
import { CommandError } from "../command-error.ts";

/** One connection per WebSocket. Channel 0 carries data, channel 1 errors. */
const protocol = "v4.channel.k8s.io";
const channels = { data: 0, error: 1 } as const;
/** The first message of each channel starts with the port number. */
const portBytes = 2;
/** Enough for a browser. Further connections are refused. */
const mostConnections = 200;

export interface PortForwardOptions extends GlobalOptions {
  readonly address: string;
}

export async function portForward(sandbox: string, ports: string, options: PortForwardOptions): Promise<void> {
  const { local, remote } = parsePorts(ports);
  await using connection = await connect(options);
  const pod = await podOf(connection, sandbox, { wakes: true });
  // Report a missing Pod now instead of at the first connection, which wakes the sandbox if it is asleep.
  if (!pod.isAsleep) await fetchJson(connection.transport, podPath(connection.namespace, pod.name));
  const path = `${podPath(connection.namespace, pod.name, "portforward")}?ports=${remote}`;
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    forward(connection, path, socket).catch((error: unknown) => {
      const explained = sessionError(error, pod);
      console.error(explained instanceof Error ? explained.message : String(explained));
      socket.destroy();
    });
  });
  server.maxConnections = mostConnections;
  server.listen(local, options.address);
  await once(server, "listening");
  const { address, port } = server.address() as AddressInfo;
  console.log(`Forwarding from ${address.includes(":") ? `[${address}]` : address}:${port} -> ${remote}`);
  await once(server, "close");
}

/** Parses `8080:80`, `80` (the same port on both sides) or `:80` (any free local port). */
export function parsePorts(text: string): { readonly local: number; readonly remote: number } {
  const [, local, remote] = /^(?:(\d{0,5}):)?(\d{1,5})$/.exec(text) ?? [];
  const ports = { local: Number(local ?? remote), remote: Number(remote) };
  if (remote !== undefined && ports.remote > 0 && ports.remote <= 65_535 && ports.local <= 65_535) return ports;
  throw new CommandError(`Cannot read ports "${text}": write local:remote, as in 8080:80`);
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
