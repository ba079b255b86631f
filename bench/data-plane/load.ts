/** A closed-loop load generator with little CPU time of its own: requests are prepared bytes, responses are only counted. */
import { connect, type Socket } from "node:net";

export interface Load {
  readonly host: string;
  readonly port: number;
  /** The whole request in bytes. */
  readonly request: Buffer;
  readonly connections: number;
  readonly seconds: number;
}

export interface LoadResult {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly failures: number;
}

const end = Buffer.from("\r\n\r\n");

/** Responses must have a Content-Length. */
export async function measureLoad({ host, port, request, connections, seconds }: Load): Promise<LoadResult> {
  const latencies: number[] = [];
  let failures = 0;
  const until = performance.now() + seconds * 1000;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = await opened(host, port);
      while (performance.now() < until) {
        const sent = performance.now();
        const status = await exchange(socket, request);
        latencies.push(performance.now() - sent);
        if (status !== 200) failures += 1;
      }
      socket.destroy();
    }),
  );
  const tookSeconds = (performance.now() - started) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
  return { requestsPerSecond: latencies.length / tookSeconds, p50Ms: at(0.5), p99Ms: at(0.99), failures };
}

function opened(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true });
    socket.once("error", reject);
    socket.once("connect", () => resolve(socket));
  });
}

function exchange(socket: Socket, request: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      const head = received.indexOf(end);
      if (head < 0) return;
      const text = received.toString("latin1", 0, head);
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (received.length < head + end.length + length) return;
      settle();
      resolve(Number(text.slice(9, 12)));
    };
    const onError = (error: Error): void => {
      settle();
      reject(error);
    };
    const settle = (): void => {
      socket.off("data", onData);
      socket.off("error", onError);
    };
    socket.on("data", onData);
    socket.on("error", onError);
    socket.write(request);
  });
}
