import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { allTools } from "./all-tools.ts";
import type { Tool } from "./tool.ts";

const page = readFileSync(`${import.meta.dirname}/../../../../docs/mcp.md`, "utf8");

interface Property {
  readonly default?: unknown;
}

/** `command`, `cwd?`, `background=false`: the arguments of a tool, without those that all tools have. */
function argumentsOf({ input }: Tool): string {
  const { properties = {}, required = [] } = z.toJSONSchema(input, { io: "input" });
  const names = Object.keys(properties).filter((name) => name !== "namespace");
  const shown = names.map((name) => {
    const { default: value } = properties[name] as Property;
    if (value !== undefined) return `\`${name}=${typeof value === "string" ? value : JSON.stringify(value)}\``;
    return required.includes(name) ? `\`${name}\`` : `\`${name}?\``;
  });
  return shown.join(", ");
}

test.for(allTools.map((tool) => [tool.name, tool] as const))("docs/mcp.md has the arguments of %s", ([name, tool]) => {
  const row = page.split("\n").find((line) => line.startsWith(`| \`${name}\` | `));
  expect(row).toContain(`| \`${name}\` | ${argumentsOf(tool)} |`);
});

test("docs/mcp.md has no tool that does not exist", () => {
  const section = page.slice(page.indexOf("## Tools"), page.indexOf("## Resources"));
  const rows = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  expect(rows).toEqual(allTools.map(({ name }) => name));
});
