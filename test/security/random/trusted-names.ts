import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const packages = join(import.meta.dirname, "../../../packages");
const name = /["'`]([a-z0-9.-]*(?:kubernetes|k8s)\.io\/[A-Za-z0-9._-]+)["'`]/g;

/**
 * Every label and annotation that a source file of the product names, so that a new one is attacked without a change here. API
 * versions have the same form and are left out.
 */
export function trustedNames(): string[] {
  const files = globSync("*/src/**/*.ts", { cwd: packages }).filter((file) => !/\.test\./.test(file));
  const texts = files.map((file) => readFileSync(join(packages, file), "utf8"));
  const found = texts.flatMap((text) => [...text.matchAll(name)].map(([, each]) => each ?? ""));
  return [...new Set(found)].filter((each) => !/\/v\d+(?:(?:alpha|beta)\d+)?$/.test(each)).sort();
}
