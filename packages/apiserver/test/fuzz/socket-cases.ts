import { controlType, encodeFrame, type Frame } from "../../src/streams/spdy/frames.ts";
import { HeaderWriter } from "../../src/streams/spdy/header-block.ts";
import type { Random } from "./random.ts";

/** An upgrade request followed by frames. */
export interface SocketCase {
  readonly kind: "socket";
  readonly path: string;
  readonly head: { readonly [name: string]: string };
  readonly frames: readonly Buffer[];
}

const pod = "/api/v1/namespaces/default/pods/streaming";

function headerBlock(random: Random, writer: HeaderWriter): Buffer {
  if (random.chance(0.2)) return random.bytes(random.below(300));
  const block = writer.write(
    new Map([
      ["streamtype", random.pick(["stdin", "stdout", "stderr", "error", "resize", "data", "nonsense", ""])],
      ["port", random.pick(["80", "0", "-1", "99999999", "x"])],
      ["requestid", random.pick(["0", "1", "x".repeat(5000)])],
    ]),
  );
  return random.chance(0.15) ? block.subarray(0, random.below(block.length)) : block;
}

function spdyFrame(random: Random, writer: HeaderWriter): Buffer {
  const streamId = random.pick([0, 1, 2, 3, 5, 7, 9, 0x7fffffff]);
  const frames: readonly (() => Frame)[] = [
    () => ({
      type: random.pick(["syn-stream", "syn-stream", "syn-reply", "headers"]),
      streamId,
      fin: random.chance(0.2),
      headerBlock: headerBlock(random, writer),
    }),
    () => ({ type: "data", streamId, fin: random.chance(0.2), bytes: random.bytes(random.pick([0, 1, 100, 5000])) }),
    () => ({ type: "rst-stream", streamId, status: random.below(20) }),
    () => ({
      type: "settings",
      values: new Map(random.times(random.few(5), () => [random.below(16), random.below(2 ** 31)] as const)),
    }),
    () => ({ type: "ping", id: random.below(10) }),
    () => ({ type: "go-away", lastStreamId: streamId, status: 0 }),
    () => ({ type: "window-update", streamId, delta: random.pick([0, 1, 0x7fffffff]) }),
  ];
  const frame = encodeFrame(random.pick(frames)());
  return random.chance(0.15) ? damaged(random, frame) : frame;
}

/** A frame with a wrong length or type, or truncated. */
function damaged(random: Random, frame: Buffer): Buffer {
  const copy = Buffer.from(frame);
  switch (random.below(4)) {
    case 0:
      copy.writeUIntBE(random.below(2 ** 24), 5, 3);
      return copy;
    case 1:
      copy.writeUInt16BE(random.pick([...Object.values(controlType), 5, 10, 999]), 2);
      return copy;
    case 2:
      return copy.subarray(0, random.below(copy.length));
    default:
      return random.bytes(random.below(100));
  }
}

function webSocketFrame(random: Random): Buffer {
  const payload = random.chance(0.3)
    ? Buffer.from([4, ...Buffer.from('{"Width":-1,"Height":99999999}')])
    : random.bytes(random.pick([0, 1, 50, 125]));
  const isMasked = random.chance(0.85);
  const opcode = random.pick([0, 1, 2, 2, 2, 3, 8, 9, 10, 15]);
  const head = Buffer.from([(random.chance(0.8) ? 0x80 : 0) | (random.chance(0.05) ? 0x70 : 0) | opcode]);
  const lengths: readonly Buffer[] = [
    Buffer.from([payload.length]),
    Buffer.from([payload.length]),
    Buffer.from([126, 0, payload.length]),
    Buffer.concat([Buffer.from([127]), random.bytes(8)]),
  ];
  const length = Buffer.from(random.pick(lengths));
  if (isMasked) length[0] = (length[0] as number) | 0x80;
  const mask = isMasked ? random.bytes(4) : Buffer.alloc(0);
  const body = isMasked ? Buffer.from(payload.map((byte, at) => byte ^ (mask[at % 4] as number))) : payload;
  return Buffer.concat([head, length, mask, body]);
}

const protocols = [
  "v5.channel.k8s.io",
  "v4.channel.k8s.io",
  "base64.channel.k8s.io",
  "SPDY/3.1+portforward.k8s.io",
  "nonsense",
  "",
];
const streamProtocols = ["v4.channel.k8s.io", "v5.channel.k8s.io", "portforward.k8s.io", "nonsense"];

function target(random: Random): string {
  const query = random.pick([
    "command=cat&stdin=true&stdout=true",
    "command=flood&command=100000&stdout=true",
    "ports=80",
    "container=x",
    "command=",
    "tty=true&stdin=true&command=cat",
    "%%%",
  ]);
  return `${pod}/${random.pick(["exec", "exec", "attach", "portforward", "portforward", "log", "nonsense"])}?${query}`;
}

export function socketCase(random: Random): SocketCase {
  const count = 1 + random.below(25);
  if (random.chance(0.5)) {
    const writer = new HeaderWriter();
    const head = {
      connection: "Upgrade",
      upgrade: random.pick(["SPDY/3.1", "SPDY/3.1", "spdy/2"]),
      "x-stream-protocol-version": random.pick(streamProtocols),
    };
    return { kind: "socket", path: target(random), head, frames: random.times(count, () => spdyFrame(random, writer)) };
  }
  const head = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": random.pick(["13", "13", "13", "8"]),
    "sec-websocket-key": random.chance(0.95) ? random.bytes(16).toString("base64") : "x",
    "sec-websocket-protocol": random.pick(protocols),
  };
  return { kind: "socket", path: target(random), head, frames: random.times(count, () => webSocketFrame(random)) };
}
