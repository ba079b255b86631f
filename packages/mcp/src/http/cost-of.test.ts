import { expect, test } from "vitest";
import { costOf } from "./cost-of.ts";

const mebibyte = 1_048_576;
const call = (name: unknown, given: unknown) => ({ method: "tools/call", params: { name, arguments: given } });

test.for([
  [{ method: "tools/list" }, 1],
  [{ method: "resources/read", params: { uri: "sandbox://a/b/files/c" } }, 24],
  [call("run_command", { command: "true" }), 1],
  [call("run_command", { max_output_bytes: mebibyte }), 8],
  [call("run_command", { max_output_bytes: 1e300 }), 8],
  [call("run_command", { max_output_bytes: -1 }), 1],
  [call("run_command", { max_output_bytes: "9" }), 1],
  [call("read_file", { limit: 262_144 }), 2],
  [call("edit_file", {}), 24],
  [call("run_code", undefined), 8],
  [call("toString", {}), 1],
  [call("__proto__", {}), 1],
  [call({}, []), 1],
  [{ method: "tools/call", params: [] }, 1],
  [null, 1],
  ["text", 1],
] as const)("%j costs %s MiB", ([message, expected]) => {
  expect(costOf(message)).toBe(expected * mebibyte);
});
