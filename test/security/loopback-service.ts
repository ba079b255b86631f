import { once } from "node:events";
import { createServer, type Server } from "node:http";

/** A service on the machine's loopback that tenants must not reach. Calls back with the URL of each request. */
export async function startLoopbackService(onRequest: (url: string) => void): Promise<Server> {
  const service = createServer((request, response) => {
    onRequest(request.url ?? "");
    response.end("secret of the machine");
  }).listen(0, "127.0.0.1");
  await once(service, "listening");
  return service;
}
