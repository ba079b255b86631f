/** The bytes are not valid protobuf. */
export class WireProblem extends Error {}

export type WireValue =
  | { readonly type: "varint"; readonly value: bigint }
  | { readonly type: "bytes"; readonly value: Uint8Array }
  | { readonly type: "fixed"; readonly value: Uint8Array };

/** The fields of one message in their order on the wire (the encoding of proto2 and proto3 is the same). */
export function* wireFields(bytes: Uint8Array): Generator<readonly [number, WireValue]> {
  const cursor = { at: 0 };
  while (cursor.at < bytes.length) {
    const key = readVarint(bytes, cursor);
    const number = Number(key >> 3n);
    if (number === 0) throw new WireProblem("a field has no number");
    yield [number, readValue(bytes, cursor, Number(key & 7n))];
  }
}

interface Cursor {
  at: number;
}

function readValue(bytes: Uint8Array, cursor: Cursor, wireType: number): WireValue {
  switch (wireType) {
    case 0:
      return { type: "varint", value: readVarint(bytes, cursor) };
    case 1:
      return { type: "fixed", value: take(bytes, cursor, 8) };
    case 2:
      return { type: "bytes", value: take(bytes, cursor, Number(readVarint(bytes, cursor))) };
    case 5:
      return { type: "fixed", value: take(bytes, cursor, 4) };
    default:
      throw new WireProblem(`a field has the unknown wire type ${wireType}`);
  }
}

function take(bytes: Uint8Array, cursor: Cursor, length: number): Uint8Array {
  if (length > bytes.length - cursor.at) throw new WireProblem("it ends in the middle of a field");
  const taken = bytes.subarray(cursor.at, cursor.at + length);
  cursor.at += length;
  return taken;
}

/** Reads up to 64 bits from at most ten bytes. */
function readVarint(bytes: Uint8Array, cursor: Cursor): bigint {
  let value = 0n;
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = bytes[cursor.at];
    if (byte === undefined) throw new WireProblem("it ends in the middle of a number");
    cursor.at += 1;
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return BigInt.asUintN(64, value);
  }
  throw new WireProblem("a number is longer than ten bytes");
}
