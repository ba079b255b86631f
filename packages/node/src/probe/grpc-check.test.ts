import { expect, test } from "vitest";
import { parseAnswer, requestFrame } from "./grpc-check.ts";

test("encodes a request without and with a service", () => {
  expect(requestFrame("").toString("hex")).toBe("0000000000");
  expect(requestFrame("db").toString("hex")).toBe("00000000040a026462");
  expect(() => requestFrame("x".repeat(128))).toThrow("longer than 127 bytes");
});

test.for([
  ["SERVING", "00000000020801", 1],
  ["NOT_SERVING", "00000000020802", 2],
  ["a missing status is UNKNOWN", "0000000000", 0],
  ["ignores other fields", "00000000021001", 0],
] as const)("an answer: %s", ([, hex, status]) => {
  expect(parseAnswer(Buffer.from(hex, "hex"))).toBe(status);
});

test("an empty response is an error", () => {
  expect(() => parseAnswer(Buffer.from("0000", "hex"))).toThrow("sent no response");
});
