import { once } from "node:events";
import { connect } from "node:net";

/** Whether somebody listens: fails when nobody does. */
export async function tcpConnect(host: string, port: number, signal: AbortSignal): Promise<void> {
  const socket = connect({ host, port });
  try {
    await once(socket, "connect", { signal });
  } finally {
    socket.destroy();
  }
}
