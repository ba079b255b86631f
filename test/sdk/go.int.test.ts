import { expect, test } from "vitest";
import { runGo } from "./go-module.ts";

test("the unit tests of the Go SDK pass", { timeout: 900_000 }, async () => {
  expect(await runGo("test", "./...")).toEqual({ code: 0, stdout: expect.stringContaining("ok"), stderr: "" });
});
