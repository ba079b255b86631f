import { once } from "node:events";
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from "node:http2";
import type { PodConnection } from "./pod-connection.ts";

const serving = 1;
const statusNames: Readonly<Record<number, string>> = {
  0: "UNKNOWN",
  1: "SERVING",
  2: "NOT_SERVING",
  3: "SERVICE_UNKNOWN",
};
const answerLimit = 64 * 1024;

/** Calls `grpc.health.v1.Health/Check`. Throws unless the service is SERVING. */
export async function grpcCheck(pod: PodConnection, port: number, service: string, signal: AbortSignal): Promise<void> {
  const socket = await pod.connect(port, signal);
  const session = connect(`http://${pod.host}:${port}`, { createConnection: () => socket });
  const failed = new Promise<never>((_, reject) => {
    session.once("error", reject);
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
  failed.catch(() => undefined);
  try {
    const status = await Promise.race([check(session, service), failed]);
    if (status !== serving) throw new Error(`service unhealthy (responded with "${statusNames[status] ?? status}")`);
  } finally {
    session.destroy();
    socket.destroy();
  }
}

async function check(session: ClientHttp2Session, service: string): Promise<number> {
  const stream = session.request({
    ":method": "POST",
    ":path": "/grpc.health.v1.Health/Check",
    "content-type": "application/grpc",
    "user-agent": "kube-probe/1.35",
    te: "trailers",
  });
  let status: string | undefined;
  const readStatus = (headers: IncomingHttpHeaders): void => {
    status = headers["grpc-status"]?.toString() ?? status;
  };
  stream.on("response", readStatus).on("trailers", readStatus);
  stream.end(requestFrame(service));
  const chunks: Buffer[] = [];
  let length = 0;
  stream.on("data", (chunk: Buffer) => {
    if ((length += chunk.length) <= answerLimit) chunks.push(chunk);
  });
  await once(stream, "end");
  if (status !== "0") throw new Error(`the health service answered with gRPC status ${status ?? "none"}`);
  return parseAnswer(Buffer.concat(chunks));
}

/** A gRPC message is preceded by a compression byte and four bytes of length; a HealthCheckRequest is `1: service`. */
export function requestFrame(service: string): Buffer {
  const name = Buffer.from(service);
  if (name.length > 127) throw new Error("the service name is longer than 127 bytes");
  const message = name.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a, name.length]), name]);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** A HealthCheckResponse is `1: status`, left out when zero. */
export function parseAnswer(frame: Buffer): number {
  if (frame.length < 5) throw new Error("the health service sent no response");
  return frame.length >= 7 && frame[5] === 0x08 ? (frame[6] ?? 0) : 0;
}
