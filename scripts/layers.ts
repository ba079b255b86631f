import { globSync, readFileSync } from "node:fs";
import { mayImport, type Permission } from "./packages.ts";

export interface Import {
  readonly specifier: string;
  readonly typeOnly: boolean;
}

const statement =
  /^\s*(?:import|export)\s+(type\s+)?(?:[^"';]*?\sfrom\s+)?["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']\s*\)/gm;

/** The modules that a source file imports or re-exports, with static statements or `import()`. */
export function importsOf(source: string): Import[] {
  return [...source.matchAll(statement)].map(([, type, fixed, dynamic]) => ({
    specifier: fixed ?? dynamic ?? "",
    typeOnly: type !== undefined,
  }));
}

/** The imports that a file of the package `owner` must not have, one sentence each. */
export function violations(
  owner: string,
  imports: readonly Import[],
  table: Readonly<Record<string, Readonly<Record<string, Permission>>>> = mayImport,
): string[] {
  const allowed = table[owner];
  if (allowed === undefined) return [`package "${owner}" is not in scripts/packages.ts`];
  return imports.flatMap(({ specifier, typeOnly }) => {
    const target = /^@agent-sandbox\/([^/]+)/.exec(specifier)?.[1];
    if (/^(\.\.\/)+packages\/|^(\.\.\/){2,}[a-z]+\/src\//.test(specifier)) {
      return [`imports "${specifier}": import another package by its name`];
    }
    if (target === undefined || target === owner) return [];
    const permission = allowed[target];
    if (permission === undefined) return [`imports "${specifier}": ${owner} may not import ${target}`];
    if (permission === "types" && !typeOnly) {
      return [`imports values from "${specifier}": ${owner} may import only types from ${target}`];
    }
    return [];
  });
}

function checkLayers(root: string): string[] {
  return globSync("packages/*/{src,test,generate}/**/*.ts", { cwd: root }).flatMap((file) => {
    const owner = file.split("/")[1] ?? "";
    return violations(owner, importsOf(readFileSync(`${root}/${file}`, "utf8"))).map((what) => `${file}: ${what}`);
  });
}

if (import.meta.main) {
  const found = checkLayers(`${import.meta.dirname}/..`);
  for (const line of found) console.error(line);
  if (found.length > 0) process.exit(1);
}
