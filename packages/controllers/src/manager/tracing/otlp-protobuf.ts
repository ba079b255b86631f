/** How a field of a message is written, and its number in OTLP's trace.proto, resource.proto and common.proto. */
type Field =
  | readonly [number: number, kind: "text" | "hex" | "varint" | "fixed64" | "double"]
  | readonly [number: number, kind: Message];
/** The fields by their names in OTLP's JSON. */
interface Message {
  readonly [name: string]: Field;
}

const arrayValue: { [name: string]: Field } = {};
const anyValue: Message = {
  stringValue: [1, "text"],
  boolValue: [2, "varint"],
  intValue: [3, "varint"],
  doubleValue: [4, "double"],
  arrayValue: [5, arrayValue],
};
// A list may hold lists.
arrayValue["values"] = [1, anyValue];
const keyValue: Message = { key: [1, "text"], value: [2, anyValue] };
const event: Message = { timeUnixNano: [1, "fixed64"], name: [2, "text"], attributes: [3, keyValue] };
const status: Message = { message: [2, "text"], code: [3, "varint"] };
const span: Message = {
  traceId: [1, "hex"],
  spanId: [2, "hex"],
  parentSpanId: [4, "hex"],
  name: [5, "text"],
  kind: [6, "varint"],
  startTimeUnixNano: [7, "fixed64"],
  endTimeUnixNano: [8, "fixed64"],
  attributes: [9, keyValue],
  events: [11, event],
  status: [15, status],
};
const scopeSpans: Message = { scope: [1, { name: [1, "text"] }], spans: [2, span] };
const resourceSpans: Message = { resource: [1, { attributes: [1, keyValue] }], scopeSpans: [2, scopeSpans] };
const request: Message = { resourceSpans: [1, resourceSpans] };

/** A request as OTLP's JSON has it, in protobuf's encoding. */
export function encodeRequest(json: object): Buffer<ArrayBuffer> {
  return encode(request, json);
}

function encode(message: Message, value: object): Buffer<ArrayBuffer> {
  const parts = Object.entries(value).flatMap(([name, field]: [string, unknown]) => {
    const known = message[name];
    if (known === undefined) throw new Error(`Cannot encode "${name}": OTLP has no such field here`);
    return (Array.isArray(field) ? field : [field]).flatMap((each: unknown) => encodeField(known, each));
  });
  return Buffer.concat(parts);
}

const wireType = { varint: 0, fixed64: 1, double: 1, delimited: 2 } as const;

function encodeField([number, kind]: Field, value: unknown): Buffer[] {
  switch (kind) {
    case "varint":
      return [tag(number, wireType.varint), varint(BigInt(value as string | number | boolean))];
    case "fixed64": {
      const bytes = Buffer.alloc(8);
      bytes.writeBigUInt64LE(BigInt(value as string));
      return [tag(number, wireType.fixed64), bytes];
    }
    case "double": {
      const bytes = Buffer.alloc(8);
      bytes.writeDoubleLE(value as number);
      return [tag(number, wireType.double), bytes];
    }
    case "text":
      return delimited(number, Buffer.from(value as string));
    case "hex":
      return delimited(number, Buffer.from(value as string, "hex"));
    default:
      return delimited(number, encode(kind, value as object));
  }
}

function delimited(number: number, bytes: Buffer): Buffer[] {
  return [tag(number, wireType.delimited), varint(BigInt(bytes.length)), bytes];
}

function tag(number: number, type: number): Buffer {
  return varint(BigInt((number << 3) | type));
}

/** Seven bits at a time, the lowest first; a negative number is taken for the 64 bits it has. */
function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}
