import { readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import {
  type Definitions,
  fetchDefinitions,
  kubernetesModule,
  reachable,
} from "../../api/generate/kubernetes-definitions.ts";
import { addEnums, fetchEnums } from "../../api/generate/kubernetes-enums.ts";
import { sortKeys } from "../../api/generate/sort-keys.ts";
import { servedDefinitions, servedVersions } from "./served-definitions.ts";

/**
 * Writes the schemas of the built-in kinds that the server serves, as Kubernetes publishes them, without descriptions. With
 * `--check` it writes nothing, needs no network, and fails unless the committed file comes from the pinned release and
 * contains exactly the definitions that the served kinds need.
 */
const root = join(import.meta.dirname, "../../..");
const file = join(import.meta.dirname, "../src/resources/builtin-schemas.generated.json");

interface Bundle {
  readonly kubernetes: string;
  readonly definitions: Definitions;
}

function contentOf(definitions: Definitions): string {
  const bundle: Bundle = {
    kubernetes: kubernetesModule.version,
    definitions: reachable(definitions, servedDefinitions),
  };
  return `${JSON.stringify(sortKeys(bundle))}\n`;
}

async function generate(): Promise<void> {
  const definitions = await fetchDefinitions(servedDefinitions, servedVersions);
  await writeFile(file, contentOf(addEnums(definitions, await fetchEnums())));
  console.log(`Wrote ${relative(root, file)}`);
}

async function check(): Promise<void> {
  const committed = await readFile(file, "utf8");
  const { kubernetes, definitions } = JSON.parse(committed) as Bundle;
  if (kubernetes === kubernetesModule.version && committed === contentOf(definitions)) return;
  console.error(`${relative(root, file)} is out of date: run "make generate" and commit the result`);
  process.exitCode = 1;
}

await (process.argv.includes("--check") ? check() : generate());
