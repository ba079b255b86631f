import { globSync, readFileSync } from "node:fs";
import { folderLayers, type ImportTable, mayImport } from "./packages.ts";

export interface Import {
  readonly specifier: string;
  readonly typeOnly: boolean;
}

const statement =
  /^\s*(?:import|export)\s+(type\s+)?(?:[^"';]*?\sfrom\s+)?["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']\s*\)/gm;

/** The modules a source imports or re-exports, statically or by `import()`. */
export function importsOf(source: string): Import[] {
  return [...source.matchAll(statement)].map(([, type, fixed, dynamic]) => ({
    specifier: fixed ?? dynamic ?? "",
    typeOnly: type !== undefined,
  }));
}

/** Imports of other packages that the table does not allow, one sentence each. */
export function violations(owner: string, imports: readonly Import[], table: ImportTable = mayImport): string[] {
  const allowed = table[owner];
  if (allowed === undefined) return [`package "${owner}" is not in scripts/packages.ts`];
  return imports.flatMap(({ specifier, typeOnly }) => {
    if (/^(\.\.\/)+packages\/|^(\.\.\/){2,}[a-z]+\/src\//.test(specifier)) {
      return [`imports "${specifier}": import another package by its name`];
    }
    // Generators are not exported by packages, so other generators import them by path.
    const target = /^@agent-sandbox\/([^/]+)|^(?:\.\.\/){2}([a-z]+)\/generate\//.exec(specifier)?.slice(1).join("");
    if (target === undefined || target === owner) return [];
    const permission = allowed[target];
    if (permission === undefined) return [`imports "${specifier}": ${owner} may not import ${target}`];
    if (permission === "types" && !typeOnly) {
      return [`imports values from "${specifier}": ${owner} may import only types from ${target}`];
    }
    return [];
  });
}

/** Imports from `folder` to a higher folder of the same package, one sentence each. */
export function folderViolations(folder: string, imports: readonly Import[], layers: readonly string[]): string[] {
  const own = layers.indexOf(folder);
  if (own === -1) return [`folder "${folder}" is not in scripts/packages.ts`];
  return imports.flatMap(({ specifier }) => {
    const target = /^(?:\.\.\/)+([a-z-]+)\//.exec(specifier)?.[1] ?? "";
    return layers.indexOf(target) > own ? [`imports "${specifier}": ${folder} is below ${target}`] : [];
  });
}

function checkFile(root: string, file: string): string[] {
  const [, owner = "", part, folder = "", inside] = file.split("/");
  const imports = importsOf(readFileSync(`${root}/${file}`, "utf8"));
  const layers = folderLayers[owner];
  const isInFolder = part === "src" && inside !== undefined && !/\.test\.(?:support\.)?ts$/.test(file);
  return [
    ...violations(owner, imports),
    ...(layers !== undefined && isInFolder ? folderViolations(folder, imports, layers) : []),
  ].map((what) => `${file}: ${what}`);
}

function checkLayers(root: string): string[] {
  return globSync("packages/*/{src,test,generate}/**/*.{ts,tsx}", { cwd: root }).flatMap((file) =>
    checkFile(root, file),
  );
}

if (import.meta.main) {
  const found = checkLayers(`${import.meta.dirname}/..`);
  for (const line of found) console.error(line);
  if (found.length > 0) process.exit(1);
}
