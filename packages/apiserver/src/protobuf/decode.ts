import bundle from "./messages.generated.json" with { type: "json" };
import { specialTypes } from "./special-types.ts";
import { WireProblem, type WireValue, wireFields } from "./wire.ts";

export type Decoded = { readonly value: unknown } | { readonly problem: string; readonly unknownKind?: boolean };

/** JSON name, type, and flags: `r` repeated, `m` map with string keys, `k` kept when empty, `i` inline. */
type Field = readonly [string, string, string];

const kinds = bundle.kinds as Readonly<Record<string, string | undefined>>;
const messages = bundle.messages as unknown as Readonly<Record<string, Readonly<Record<string, Field | undefined>>>>;

const magic = Buffer.from("k8s\0");
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Decodes an object in Kubernetes' protobuf format to the object that JSON would contain. In protobuf, Go writes every empty
 * value; in JSON, only some of them.
 */
export function decodeProtobuf(body: Uint8Array): Decoded {
  if (!magic.equals(body.subarray(0, magic.length)))
    return { problem: "it does not begin as Kubernetes' protobuf does" };
  try {
    const { apiVersion, kind, raw } = readEnvelope(body.subarray(magic.length));
    const name = kind === "DeleteOptions" ? kinds["v1 DeleteOptions"] : kinds[`${apiVersion} ${kind}`];
    if (name === undefined) return { problem: `"${apiVersion}" "${kind}" is not read in this form`, unknownKind: true };
    return { value: { apiVersion, kind, ...readMessage(raw, name) } };
  } catch (error) {
    if (error instanceof WireProblem) return { problem: error.message };
    throw error;
  }
}

function readEnvelope(bytes: Uint8Array): { apiVersion: string; kind: string; raw: Uint8Array } {
  const envelope = new Map(wireFields(bytes));
  const type = new Map(wireFields(bytesIn(envelope.get(1))));
  return { apiVersion: textIn(type.get(1)), kind: textIn(type.get(2)), raw: bytesIn(envelope.get(2)) };
}

/** Message types are not recursive, so the depth is bounded. */
function readMessage(bytes: Uint8Array, name: string): Record<string, unknown> {
  const fields = messages[name] ?? {};
  const read = new Map<string, unknown>();
  for (const [number, wire] of wireFields(bytes)) {
    const field = fields[number];
    // Newer clients may send fields that this server does not know.
    if (field !== undefined) addField(read, field, wire);
  }
  for (const [field, value] of read) {
    if (value instanceof Map) read.set(field, Object.fromEntries(value));
  }
  return Object.fromEntries(read);
}

function addField(read: Map<string, unknown>, [name, type, flags]: Field, wire: WireValue): void {
  if (flags.includes("m")) {
    const entries = (read.get(name) as Map<string, unknown> | undefined) ?? new Map<string, unknown>();
    read.set(name, entries.set(...readEntry(wire, type)));
    return;
  }
  const value = readValue(wire, type);
  if (flags.includes("i")) {
    for (const [key, inlined] of Object.entries(value ?? {})) read.set(key, inlined);
  } else if (flags.includes("r")) {
    const items = (read.get(name) as unknown[] | undefined) ?? [];
    items.push(value);
    read.set(name, items);
  } else if (value !== undefined && (flags.includes("k") || !isEmpty(value))) read.set(name, value);
}

function isEmpty(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0;
  return value === "" || value === 0 || value === false;
}

function readEntry(wire: WireValue, type: string): [string, unknown] {
  const entry = new Map(wireFields(bytesIn(wire)));
  const value = entry.get(2) ?? { type: "bytes", value: new Uint8Array() };
  return [textIn(entry.get(1)), readValue(value, type)];
}

function readValue(wire: WireValue, type: string): unknown {
  switch (type) {
    case "string":
      return textIn(wire);
    case "bytes":
      return Buffer.from(bytesIn(wire)).toString("base64");
    case "bool":
      return numberIn(wire) !== 0;
    case "int32":
    case "int64":
      return numberIn(wire);
    default: {
      const message = readMessage(bytesIn(wire), type);
      const special = specialTypes.get(type);
      return special === undefined ? message : special(message);
    }
  }
}

function bytesIn(wire: WireValue | undefined): Uint8Array {
  if (wire === undefined) return new Uint8Array();
  if (wire.type !== "bytes") throw new WireProblem("a field is not of the type it should be");
  return wire.value;
}

function textIn(wire: WireValue | undefined): string {
  try {
    return utf8.decode(bytesIn(wire));
  } catch (error) {
    throw error instanceof WireProblem ? error : new WireProblem("a text is not UTF-8");
  }
}

function numberIn(wire: WireValue): number {
  if (wire.type !== "varint") throw new WireProblem("a field is not of the type it should be");
  const value = Number(BigInt.asIntN(64, wire.value));
  if (!Number.isSafeInteger(value)) throw new WireProblem("a number is beyond what JSON can carry");
  return value;
}
