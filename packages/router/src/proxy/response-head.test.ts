import { expect, test } from "vitest";
import { responseHead } from "./response-head.ts";

const origin = { route: { by: "host" }, epoch: undefined } as Parameters<typeof responseHead>[1];

test.each(["x-sandbox-reason", "X-Sandbox-Reason", "X-SANDBOX-EPOCH"])("a sandbox cannot set %s", (name) => {
  const raw = ["content-type", "text/plain", name, "Unreachable", "x-sandbox-exec-error", "timeout"];
  expect(responseHead(raw, origin)).toEqual(["content-type", "text/plain", "x-sandbox-exec-error", "timeout"]);
});
