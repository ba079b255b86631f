import { once } from "node:events";
import { createServer } from "node:net";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Listens on each address for a moment, so that a port in use is reported before anything is created. */
export async function checkPorts(addresses: readonly Address[]): Promise<void> {
  for (const { host, port } of addresses) {
    const server = createServer();
    server.listen({ host, port, exclusive: true });
    await once(server, "listening");
    await new Promise((resolve) => server.close(resolve));
  }
}
