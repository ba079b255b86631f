import { Agent, request } from "node:https";
import { connect } from "node:tls";
import type { HttpCase } from "./http-cases.ts";
import type { ServerAddress } from "./server-process.ts";
import type { SocketCase } from "./socket-cases.ts";

/** A request without a response for this long counts as a hang. */
const timeoutMs = 30_000;
/** How long to wait after the last frame. Most connections end at the first invalid frame. */
const streamMs = 300;

/** Sends cases and returns their status. A missing response is an error, unless the server may close the connection. */
export class FuzzClient implements Disposable {
  readonly #address: ServerAddress;
  readonly #agent: Agent;

  constructor(address: ServerAddress) {
    this.#address = address;
    this.#agent = new Agent({ ca: address.authority, keepAlive: true, maxSockets: 16 });
  }

  /** Returns 0 when the connection was closed, because the case may not be valid HTTP. */
  async send({ method, path, headers, body }: Omit<HttpCase, "kind">): Promise<number> {
    const { port, token } = this.#address;
    return new Promise((resolve, reject) => {
      const sent = request({
        host: "127.0.0.1",
        port,
        agent: this.#agent,
        method,
        path,
        headers: {
          authorization: `Bearer ${token}`,
          ...headers,
          ...(body === undefined ? {} : { "content-length": body.length }),
        },
        timeout: timeoutMs,
      });
      sent.once("timeout", () => reject(new Error(`no response within ${timeoutMs / 1000} s`)));
      sent.once("error", (error: Error & { code?: string }) => {
        if (error.code === "ECONNREFUSED") reject(error);
        else resolve(0);
      });
      sent.once("response", (response) => {
        response.resume().once("close", () => resolve(response.statusCode ?? 0));
      });
      sent.end(body);
    });
  }

  /** Sends the request and all frames, then disconnects. */
  async dial({ path, head, frames }: SocketCase): Promise<number> {
    const { port, authority, token } = this.#address;
    const socket = connect({ host: "127.0.0.1", port, ca: authority });
    const lines = Object.entries({ host: "127.0.0.1", authorization: `Bearer ${token}`, ...head }).map(
      ([name, value]) => `${name}: ${value}`,
    );
    const closed = new Promise<number>((resolve) => {
      let status = 0;
      socket.once("data", (data: Buffer) => {
        status = Number(/^HTTP\/1\.1 (\d{3})/.exec(data.toString("latin1"))?.[1] ?? 0);
        for (const frame of frames) socket.write(frame);
      });
      socket.resume();
      socket.on("error", () => undefined);
      socket.setTimeout(streamMs, () => socket.destroy());
      socket.once("close", () => resolve(status));
    });
    socket.write(`GET ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
    return closed;
  }

  /** Whether the server is ready and its stored objects can be read. */
  async isHealthy(): Promise<boolean> {
    const path = "/api/v1/namespaces/default/configmaps/canary";
    const headers = { "content-type": "application/apply-patch+yaml" };
    const body = Buffer.from(
      JSON.stringify({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "canary" },
        data: { at: String(Date.now()) },
      }),
    );
    const statuses = [
      await this.send({ method: "GET", path: "/readyz", headers: {}, body: undefined }),
      await this.send({ method: "PATCH", path: `${path}?fieldManager=canary&force=true`, headers, body }),
      await this.send({ method: "GET", path, headers: {}, body: undefined }),
    ];
    return statuses.every((status) => status === 200 || status === 201);
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}
