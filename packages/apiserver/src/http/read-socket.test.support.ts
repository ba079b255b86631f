import type { TLSSocket } from "node:tls";

/** What the server sends until it closes the connection. */
export async function readAll(socket: TLSSocket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  await new Promise((resolve) => {
    socket.once("close", resolve);
  });
  return Buffer.concat(chunks).toString();
}
