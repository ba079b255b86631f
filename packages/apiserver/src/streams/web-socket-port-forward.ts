import type { WebSocket } from "ws";
import { ChannelSocket } from "./channel-socket.ts";
import type { ForwardedPort } from "./forward-port.ts";

/**
 * Forwards ports over a WebSocket, with one connection for each port: the first port has channel 0 for data and 1 for errors, the
 * second 2 and 3, and so on. Both channels start with the port number, low byte first.
 */
export async function webSocketPortForward(
  socket: WebSocket,
  ports: readonly number[],
  onPort: (forwarded: ForwardedPort) => Promise<void>,
): Promise<void> {
  const channels = new ChannelSocket(socket);
  await Promise.all(
    ports.map(async (port, index) => {
      const [data, error] = [index * 2, index * 2 + 1];
      const number = Buffer.from([port & 0xff, port >> 8]);
      // Created before the first await, because the client may send immediately.
      const [input, output] = [channels.input(data), channels.output(data)];
      await Promise.all([channels.send(data, number), channels.send(error, number)]).catch(() => undefined);
      await onPort({ port, input, output, error: channels.output(error) });
    }),
  );
  channels.close();
}
