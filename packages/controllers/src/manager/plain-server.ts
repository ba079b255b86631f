import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type ListenAddress, parseListenAddress } from "@agent-sandbox/api";

export interface Serving extends AsyncDisposable {
  readonly port: number;
}

/** Handles a path. An exception becomes a 500 with its message. */
export type Handler = (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void> | void;

/** The address of a flag such as `--metrics-bind-address`. `0` and the empty text turn the server off. */
export function parseBindAddress(text: string): ListenAddress | undefined | { readonly error: string } {
  if (text === "0" || text === "") return undefined;
  return parseListenAddress(text) ?? { error: `Cannot listen on "${text}": write address:port` };
}

/** Serves the paths over plain HTTP until disposed. Open connections are closed then. */
export async function servePaths(address: ListenAddress, paths: ReadonlyMap<string, Handler>): Promise<Serving> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://manager");
    const answer = paths.get(url.pathname);
    if (answer === undefined) response.writeHead(404).end("404 page not found\n");
    else if (request.method !== "GET" && request.method !== "HEAD") response.writeHead(405).end();
    else void attempt(() => answer(request, response, url)).catch((error: unknown) => fail(response, error));
  });
  server.requestTimeout = 10_000;
  return listen(server, address);
}

/** Starts to listen. Rejects if the address is in use. */
export async function listen(server: Server, { host, port }: ListenAddress): Promise<Serving> {
  await once(server.listen({ port, ...(host !== undefined && { host }) }), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function attempt(answer: () => Promise<void> | void): Promise<void> {
  await answer();
}

function fail(response: ServerResponse, error: unknown): void {
  if (!response.headersSent) response.writeHead(500);
  response.end(`${error instanceof Error ? error.message : String(error)}\n`);
}
