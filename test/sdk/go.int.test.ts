import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runGo } from "./go-module.ts";

const timeout = 900_000;

test.each([".", "otlp"])("the unit tests of the Go SDK pass: %s", { timeout }, async (module) => {
  const { code, stdout, stderr } = await runGo("test", "-C", module, "./...");
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: expect.stringContaining("ok"), stderr: "" });
});

test("the Go SDK has every name of the reference's client, with the same type", { timeout }, async () => {
  const wanted: unknown = JSON.parse(readFileSync(join(import.meta.dirname, "go-surface.json"), "utf8"));
  const { stdout, stderr } = await runGo("run", "./internal/surface", "sandbox", "otlp");
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toMatchObject(wanted as object);
});
