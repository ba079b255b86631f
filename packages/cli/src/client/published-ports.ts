import { CommandError } from "../command-error.ts";
import type { Connection } from "./connect.ts";
import { forwardPort } from "./forward-port.ts";

/** A port of `-p`: `8000` is reached through the router, `8080:8000` also at the local port 8080. */
export interface PublishedPort {
  readonly port: number;
  /** 0 for any free port. */
  readonly local?: number;
}

const highest = 65_535;

export function parsePublished(text: string): PublishedPort {
  const [, local, digits = ""] = /^(?:(\d{0,5}):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  const chosen = Number(local ?? 0);
  if (port > 0 && port <= highest && chosen <= highest) return local === undefined ? { port } : { port, local: chosen };
  throw new CommandError(`Cannot publish port "${text}": write PORT, or LOCAL:PORT, as in 8080:80`);
}

/** How a user reaches a port through the router. */
export function describePort(
  { box, namespace }: Pick<Connection, "box" | "namespace">,
  sandbox: string,
  port: number,
): string {
  const open = `agent-sandbox open ${sandbox} ${port}`;
  if (box === undefined) return `port ${port}: open it with: ${open}`;
  // Programs that use the C library do not resolve names below localhost.
  return `port ${port}: ${box.routerUrl}/sandboxes/${namespace}/${sandbox}/${port}/ (with a token; in the browser: ${open})`;
}

/** Forwards the local ports until it is disposed, and prints how to reach each port. */
export async function publishPorts(
  connection: Connection,
  { name, pod }: { readonly name: string; readonly pod: string },
  ports: readonly PublishedPort[],
): Promise<AsyncDisposable> {
  await using starting = new AsyncDisposableStack();
  for (const { port, local } of ports) {
    if (local === undefined) {
      console.error(describePort(connection, name, port));
      continue;
    }
    const forwarded = await forwardPort(
      connection,
      connection.namespace,
      { name: pod, isAsleep: false },
      { local, remote: port },
    );
    starting.use(forwarded);
    console.error(`port ${port}: http://${forwarded.address}/ while this command runs`);
  }
  return starting.move();
}
