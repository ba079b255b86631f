import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** Connects to a port. Throws if that fails or the signal is aborted first. */
export async function connectTcp(
  host: string,
  port: number,
  { signal, allowHalfOpen = false }: { readonly signal: AbortSignal; readonly allowHalfOpen?: boolean },
): Promise<Socket> {
  const socket = connect({ host, port, allowHalfOpen });
  try {
    await once(socket, "connect", { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}
