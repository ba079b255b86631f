/**
 * A minimal protobuf codec for the process service, written from the published field numbers. It shares no code with the
 * product, so that the tests verify the wire format.
 */
type Kind = "int" | "bool" | "string" | "bytes" | "strings" | "map" | Shape;
export interface Shape {
  readonly [field: string]: readonly [number, Kind];
}

const config: Shape = {
  command: [1, "strings"],
  envVars: [2, "map"],
  cwd: [3, "string"],
  user: [4, "string"],
  timeout: [5, { seconds: [1, "int"], nanos: [2, "int"] }],
  shell: [6, "string"],
};
const pty: Shape = { cols: [1, "int"], rows: [2, "int"] };
const exit: Shape = {
  exitCode: [1, "int"],
  signal: [2, "int"],
  timedOut: [3, "bool"],
  descendantsRunning: [4, "bool"],
};
const processInfo: Shape = {
  processId: [1, "int"],
  command: [3, "strings"],
  detached: [6, "bool"],
  exit: [9, exit],
  nextOffset: [12, "int"],
};

export const requests = {
  Start: { config: [1, config], pty: [2, pty], detach: [3, "bool"], requestId: [4, "string"] },
  Execute: { config: [1, config], stdin: [2, "bytes"], maxOutputBytes: [3, "int"], requestId: [4, "string"] },
  WriteStdin: { processId: [1, "int"], input: [2, "bytes"], eof: [3, {}] },
  SendSignal: { processId: [1, "int"], signal: [2, "int"], scope: [3, "int"] },
  ResizeTTY: { processId: [1, "int"], cols: [2, "int"], rows: [3, "int"] },
  List: {},
  Attach: { processId: [1, "int"], fromOffset: [2, "int"], backpressure: [3, "bool"] },
  Wait: { processId: [1, "int"] },
} as const satisfies Record<string, Shape>;

export type Method = keyof typeof requests;

const event: Shape = {
  init: [1, { processId: [1, "int"] }],
  stdout: [2, "bytes"],
  stderr: [3, "bytes"],
  exit: [4, exit],
  gap: [5, { lostBytes: [1, "int"] }],
  offset: [6, "int"],
};

export const responses: Record<Method, Shape> = {
  Start: event,
  Attach: event,
  Execute: {
    exitCode: [1, "int"],
    stdout: [2, "bytes"],
    stderr: [3, "bytes"],
    signal: [4, "int"],
    timedOut: [5, "bool"],
    descendantsRunning: [6, "bool"],
    truncated: [7, "bool"],
  },
  WriteStdin: {},
  SendSignal: {},
  ResizeTTY: {},
  List: { processes: [1, processInfo] },
  Wait: { exit: [1, exit] },
};

export type Message = Record<string, unknown>;

export function encode(message: Message, shape: Shape): Buffer {
  const parts = Object.entries(message).flatMap(([name, value]) => {
    const [number, kind] = shape[name] ?? [0, "int"];
    if (number === 0) throw new Error(`no field "${name}"`);
    return encodeField(number, kind, value);
  });
  return Buffer.concat(parts);
}

function encodeField(number: number, kind: Kind, value: unknown): Buffer[] {
  if (kind === "int" || kind === "bool") return [varint(number << 3), varint(Number(value))];
  if (kind === "string") return delimited(number, Buffer.from(String(value)));
  if (kind === "bytes") return delimited(number, Buffer.from(value as string));
  if (kind === "strings") return (value as string[]).flatMap((each) => delimited(number, Buffer.from(each)));
  if (kind === "map") {
    const pairs = Object.entries(value as Record<string, string>);
    const pair: Shape = { key: [1, "string"], value: [2, "string"] };
    return pairs.flatMap(([key, content]) => delimited(number, encode({ key, value: content }, pair)));
  }
  return delimited(number, encode(value as Message, kind));
}

function delimited(number: number, content: Buffer): Buffer[] {
  return [varint((number << 3) | 2), varint(content.length), content];
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.from([...bytes, Number(rest)]);
}

/** Unknown fields are ignored. Repeated fields become a list. */
export function decode(content: Buffer, shape: Shape): Message {
  const names = new Map(Object.entries(shape).map(([name, [number, kind]]) => [number, { name, kind }]));
  const message: Message = {};
  for (let at = 0; at < content.length; ) {
    const tag = readVarint(content, at);
    const first = readVarint(content, tag.next);
    const isDelimited = (Number(tag.value) & 7) === 2;
    at = isDelimited ? first.next + Number(first.value) : first.next;
    const known = names.get(Number(tag.value >> 3n));
    if (known === undefined) continue;
    const value = isDelimited ? content.subarray(first.next, at) : Number(BigInt.asIntN(64, first.value));
    put(message, known.name, known.kind, value);
  }
  return message;
}

function put(message: Message, name: string, kind: Kind, value: Buffer | number): void {
  if (kind === "bool") message[name] = value !== 0;
  else if (kind === "string" || kind === "bytes") message[name] = value.toString();
  else if (kind === "strings") message[name] = [...((message[name] as string[]) ?? []), value.toString()];
  else if (typeof kind === "object" && name === "processes") {
    message[name] = [...((message[name] as Message[]) ?? []), decode(value as Buffer, kind)];
  } else message[name] = typeof kind === "object" ? decode(value as Buffer, kind) : value;
}

function readVarint(content: Buffer, from: number): { value: bigint; next: number } {
  let value = 0n;
  for (let at = from; ; at += 1) {
    const byte = content[at] ?? 0;
    value |= BigInt(byte & 127) << BigInt(7 * (at - from));
    if (byte < 128) return { value, next: at + 1 };
  }
}
