import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const root = `${import.meta.dirname}/..`;
const page = readFileSync(`${root}/docs/troubleshooting.md`, "utf8");
const sources = execFileSync("git", ["ls-files", "packages/*/src/*.ts", "scripts/*.ts", "scripts/setup.sh"], {
  cwd: root,
})
  .toString("utf8")
  .split("\n")
  .filter((file) => file !== "" && !file.includes(".test."))
  .map((file) => readFileSync(`${root}/${file}`, "utf8"));

/** The messages in the headings, except those of kubectl, and the reasons in the table. `…` stands for text that varies. */
const messages = [
  ...[...page.matchAll(/^### (.*)$/gm)]
    .map(([, heading = ""]) => heading)
    .filter((heading) => !heading.includes("from `kubectl"))
    .flatMap((heading) => [...heading.matchAll(/`([^`]+)`/g)]),
  ...page.matchAll(/^\| \d{3} \| `(\w+)`/gm),
].map(([, message = ""]) => message);

test("every message on the troubleshooting page is one that the product prints", () => {
  expect(messages.length).toBeGreaterThan(15);
  const parts = messages
    .flatMap((message) => message.split("…"))
    .map((part) => part.trim().replace(/^["(]|["(]$/g, ""));
  const printed = (part: string): boolean => sources.some((source) => source.includes(part));
  expect(parts.filter((part) => part.length > 2 && !printed(part))).toEqual([]);
});
