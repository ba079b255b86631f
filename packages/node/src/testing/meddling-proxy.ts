import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What to do with a request instead of passing it on; undefined passes it on. */
export type Meddle = (path: string, response: ServerResponse) => ((answer: IncomingMessage) => void) | undefined;

/** A registry in front of a registry that can be told to misbehave. */
export interface MeddlingProxy extends AsyncDisposable {
  readonly address: string;
  /** Paths asked for, in order. */
  readonly asked: string[];
  meddle: Meddle | undefined;
}

export async function startMeddlingProxy(port: number): Promise<MeddlingProxy> {
  const asked: string[] = [];
  const server = createServer((incoming, response) => {
    const path = incoming.url ?? "";
    asked.push(path);
    const meddle = proxy.meddle?.(path, response);
    const onward = request(
      { port, host: "127.0.0.1", path, method: incoming.method, headers: incoming.headers },
      (answer) => {
        if (meddle !== undefined) return meddle(answer);
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on("error", () => response.destroy());
    incoming.pipe(onward);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy: MeddlingProxy = {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    meddle: undefined,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}
