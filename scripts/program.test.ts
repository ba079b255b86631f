import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleCommandLine } from "./program.ts";

const folder = mkdtempSync(join(tmpdir(), "agent-sandbox-bundle-"));
beforeAll(async () => void (await bundleCommandLine(folder)), 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The text of a file of the bundle and of all files that it imports, except those that it imports later with `import()`. */
function loadedWith(file: string, seen: Set<string> = new Set()): string {
  if (seen.has(file)) return "";
  seen.add(file);
  const text = readFileSync(join(folder, "lib", file), "utf8");
  const imported = [...text.matchAll(/^(?:import|\} from) (?:.* from )?"\.\/([^"]+)";$/gm)].map(
    ([, name = ""]) => name,
  );
  return [text, ...imported.map((name) => loadedWith(name, seen))].join("\n");
}

// esbuild writes the path of each source above its code.
const slow = /^\/\/ (node_modules\/(?:zod|yaml|undici)\/|packages\/kube\/src\/runner\/|packages\/node\/).*$/m;

test.each(["main", "get", "exec", "run"])("%s loads no schemas, no YAML parser and no controller runtime", (name) => {
  const file = readdirSync(join(folder, "lib")).find((one) => new RegExp(`^${name}(?:-[A-Z0-9]+)?\\.mjs$`).test(one));
  const text = loadedWith(file ?? "");
  expect(text).toContain(name === "main" ? "packages/cli/src/program.ts" : `packages/cli/src/commands/${name}.ts`);
  expect(slow.exec(text)?.[0]).toBeUndefined();
});
