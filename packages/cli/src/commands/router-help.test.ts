import { flags } from "@agent-sandbox/router";
import { expect, test } from "vitest";
import { routerHelp } from "./router-help.ts";

test("lists every flag once with its default", () => {
  const lines = routerHelp().split("\n");
  for (const [name, { fallback }] of Object.entries(flags)) {
    const at = lines.findIndex((line) => line.split(/\s+/)[1] === `--${name}`);
    const next = lines.findIndex((line, index) => index > at && !line.startsWith("    "));
    const text = lines.slice(at, next).join(" ").replace(/\s+/g, " ");
    expect(text).toContain(fallback === "" ? `--${name}` : `(default ${fallback})`);
    expect(lines.filter((line) => line.split(/\s+/)[1] === `--${name}`)).toHaveLength(1);
  }
});

test("no line is longer than 120 columns", () => {
  expect(
    routerHelp()
      .split("\n")
      .filter((line) => line.length > 120),
  ).toEqual([]);
});
