import { expect, test } from "vitest";
import { encodeRequest } from "./otlp-protobuf.ts";

const spanOf = (span: object): object => ({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] });
const attribute = (value: object): object => spanOf({ attributes: [{ key: "k", value }] });

/** The bytes within the three messages around a span. */
function spanBytes(span: object): string {
  const bytes = encodeRequest(spanOf(span));
  const size = bytes.length;
  expect(bytes.subarray(0, 6).toString("hex")).toBe(`0a${hex(size - 2)}12${hex(size - 4)}12${hex(size - 6)}`);
  return bytes.subarray(6).toString("hex");
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}

test.for([
  ["nothing", {}, ""],
  ["a name", { name: "a" }, "2a0161"],
  ["identities", { traceId: "00ff", spanId: "01", parentSpanId: "02" }, "0a0200ff120101220102"],
  ["a kind", { kind: 2 }, "3002"],
  [
    "times",
    { startTimeUnixNano: "1", endTimeUnixNano: "18446744073709551615" },
    "39010000000000000041ffffffffffffffff",
  ],
  ["a status", { status: { code: 2, message: "no" } }, "7a06180212026e6f"],
  ["two events", { events: [{ name: "a" }, { name: "b" }] }, "5a031201615a03120162"],
] as const)("encodes a span with %s", ([, span, expected]) => {
  expect(spanBytes(span)).toBe(expected);
});

test.for([
  [{ stringValue: "é" }, "0a02c3a9"],
  [{ boolValue: true }, "1001"],
  [{ boolValue: false }, "1000"],
  [{ intValue: "300" }, "18ac02"],
  [{ intValue: "-1" }, "18ffffffffffffffffff01"],
  [{ doubleValue: 1.5 }, "21000000000000f83f"],
  [{ arrayValue: { values: [{ intValue: "1" }, { arrayValue: { values: [] } }] } }, "2a080a0218010a022a00"],
] as const)("encodes the value %j", ([value, expected]) => {
  const bytes = encodeRequest(attribute(value)).toString("hex");
  expect(bytes.endsWith(`0a016b12${hex(expected.length / 2)}${expected}`)).toBe(true);
});

test("tells lengths of more than one byte", () => {
  const bytes = encodeRequest(spanOf({ name: "n".repeat(300) }));
  expect(bytes.toString("hex")).toMatch(/^0ab50212b20212af022aac02(6e){300}$/);
});

test("refuses what OTLP does not know", () => {
  expect(() => encodeRequest({ spans: [] })).toThrow('Cannot encode "spans"');
});
