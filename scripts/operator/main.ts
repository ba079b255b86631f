import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { operatorFiles } from "./operator-files.ts";

/** Writes the generated manifests of `deploy`. With `--check` it writes nothing and fails if a committed file is out of date. */
const root = join(import.meta.dirname, "../..");
const isCheck = process.argv.includes("--check");

for (const [path, content] of operatorFiles()) {
  const file = join(root, path);
  if (!isCheck) {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
    console.log(`Wrote ${path}`);
    continue;
  }
  const committed = await readFile(file, "utf8").catch(() => undefined);
  if (committed === content) continue;
  const state = committed === undefined ? "is missing" : "differs from what the sources give";
  console.error(`${path} ${state}: run "make manifests" and commit the result`);
  process.exitCode = 1;
}
