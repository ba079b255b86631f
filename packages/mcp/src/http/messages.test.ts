import { expect, test } from "vitest";
import { readMessages } from "./messages.ts";

const read = (value: unknown) => readMessages(Buffer.from(typeof value === "string" ? value : JSON.stringify(value)));

test("finds the requests and those that are cancelled", () => {
  const cancel = (requestId: unknown) => ({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
  const call = { jsonrpc: "2.0", id: 7, method: "tools/call", params: {} };
  expect(read(call)).toMatchObject({ value: call, all: [call], ids: [7], cancelled: [], isInitialize: false });
  expect(read([call, { ...call, id: "a" }, cancel(3), cancel({}), cancel(null)])).toMatchObject({
    ids: [7, "a"],
    cancelled: [3],
  });
  expect(read({ id: 1, method: "initialize" })).toMatchObject({ ids: [1], isInitialize: true });
});

test.for(["", "{", "\u0000", "[[["])("takes %j as no JSON", (text) => {
  expect(read(text).value).toBeUndefined();
});

test.for([null, 7, "text", [null, [], "x"], { method: "notifications/cancelled", params: [] }])(
  "finds nothing in %j",
  (value) => {
    expect(read(JSON.stringify(value))).toMatchObject({ ids: [], cancelled: [], isInitialize: false });
  },
);

test("refuses a body with very many messages", () => {
  const one = { jsonrpc: "2.0", id: 1, method: "ping" };
  expect(read(Array.from({ length: 32 }, () => one)).all).toHaveLength(32);
  expect(() => read(Array.from({ length: 33 }, () => one))).toThrow("more than 32 messages");
});

test("refuses a message that would take much more memory than its text", () => {
  expect(() => read(`${"[".repeat(1000)}${"]".repeat(1000)}`)).toThrow("too many elements or levels");
});
