import { once } from "node:events";
import { connect, createServer, type Server } from "node:net";

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const [headersType, resetType, settingsType, goAwayType] = [1, 3, 4, 7];
const [endHeaders, endStream, settingsAck] = [4, 1, 1];

/** Opens a stream with these headers, without a client library that validates them. Returns how it ended. */
export async function openRawStream(
  { host, port }: { readonly host: string; readonly port: number },
  headers: readonly (readonly [string, string])[],
): Promise<string> {
  const socket = connect(port, host);
  try {
    const block = Buffer.concat(headers.map(([name, value]) => literal(name, value)));
    socket.write(Buffer.concat([Buffer.from(preface), frame(settingsType, 0, 0), frame(settingsType, settingsAck, 0)]));
    socket.write(frame(headersType, endHeaders, 1, block));
    let bytes: Buffer = Buffer.alloc(0);
    for (;;) {
      const [chunk] = (await once(socket, "data")) as [Buffer];
      bytes = Buffer.concat([bytes, chunk]);
      const end = endIn(bytes);
      if (end !== undefined) return end;
    }
  } finally {
    socket.destroy();
  }
}

/** A server that answers the first request of each connection with these header blocks. The last one ends the stream. */
export function rawHttp2Server(blocks: readonly (readonly (readonly [string, string])[])[]): Server {
  return createServer((socket) => {
    socket.on("error", () => undefined);
    let bytes: Buffer = Buffer.alloc(0);
    let isAnswered = false;
    socket.on("data", (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      if (isAnswered || endIn(bytes.subarray(preface.length)) !== "answered") return;
      isAnswered = true;
      const frames = blocks.map((headers, index) => {
        const flags = endHeaders | (index === blocks.length - 1 ? endStream : 0);
        return frame(headersType, flags, 1, Buffer.concat(headers.map(([name, value]) => literal(name, value))));
      });
      socket.write(Buffer.concat([frame(settingsType, 0, 0), frame(settingsType, settingsAck, 0), ...frames]));
    });
  });
}

/** RFC 7541, 6.2.2: a literal without indexing and with a new name, not compressed. */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]);
}

function text(value: string): Buffer {
  if (value.length > 126) throw new Error("longer than one byte can say");
  return Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
}

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function endIn(bytes: Buffer): string | undefined {
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    const type = bytes[at + 3];
    if (type === headersType) return "answered";
    if (type === resetType) return `reset ${bytes.readUInt32BE(at + 9)}`;
    if (type === goAwayType) return `go away ${bytes.readUInt32BE(at + 13)}`;
  }
  return undefined;
}
