import type { WebSocket } from "ws";
import { ChannelSocket } from "./channel-socket.ts";
import type { ClientStreams } from "./client-streams.ts";
import type { WantedStreams } from "./command-request.ts";

const channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;

/** The streams of a command as channels of a WebSocket. */
export function webSocketStreams(socket: WebSocket, wanted: WantedStreams): ClientStreams {
  const channels = new ChannelSocket(socket);
  return {
    stdin: wanted.stdin ? channels.input(channel.stdin) : undefined,
    stdout: wanted.stdout ? channels.output(channel.stdout) : undefined,
    stderr: wanted.stderr ? channels.output(channel.stderr) : undefined,
    onResize: (listener) => {
      if (wanted.tty) channels.listen(channel.resize, listener);
    },
    gone: channels.gone,
    finish: async (status) => {
      // The client may have disconnected.
      await channels.send(channel.error, Buffer.from(JSON.stringify(status))).catch(() => undefined);
      channels.close();
    },
  };
}
