import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Handles a request instead of the registry; undefined passes the request on. */
export type Fault = (path: string, response: ServerResponse) => ((answer: IncomingMessage) => void) | undefined;

/** A proxy in front of a registry that can inject faults. */
export interface FaultyProxy extends AsyncDisposable {
  readonly address: string;
  /** The requested paths, in order. */
  readonly asked: string[];
  fault: Fault | undefined;
}

export async function startFaultyProxy(port: number): Promise<FaultyProxy> {
  const asked: string[] = [];
  const server = createServer((incoming, response) => {
    const path = incoming.url ?? "";
    asked.push(path);
    const fault = proxy.fault?.(path, response);
    const onward = request(
      { port, host: "127.0.0.1", path, method: incoming.method, headers: incoming.headers },
      (answer) => {
        if (fault !== undefined) return fault(answer);
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on("error", () => response.destroy());
    incoming.pipe(onward);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy: FaultyProxy = {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    fault: undefined,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}
