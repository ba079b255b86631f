import { readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import {
  type Definitions,
  fetchDefinitions,
  kubernetesModule,
  reachable,
} from "../../api/generate/kubernetes-definitions.ts";
import { describeDefinitions, embeddedTexts } from "../../api/generate/kubernetes-descriptions.ts";
import { addEnums, fetchEnums } from "../../api/generate/kubernetes-enums.ts";
import { sortKeys } from "../../api/generate/sort-keys.ts";
import { builtinKinds, definitionNameOf } from "../src/resources/builtin-kinds.ts";
import { builtinTexts } from "./builtin-descriptions.ts";

/**
 * Writes the definitions of the built-in kinds that the server serves, as Kubernetes publishes them, with descriptions of
 * our own. With `--check` it writes nothing, needs no network, and fails unless what is committed is of the pinned release and holds exactly what
 * the served kinds need.
 */
const root = join(import.meta.dirname, "../../..");
const file = join(import.meta.dirname, "../src/resources/builtin-schemas.generated.json");

const kinds = builtinKinds.flatMap(({ kind, apiVersions = ["v1"] }) =>
  apiVersions.map((apiVersion) => ({ apiVersion, name: definitionNameOf(apiVersion, kind) })),
);
/** What requests and answers are made of besides the kinds themselves. */
const common = ["Status", "DeleteOptions", "ListMeta", "ObjectMeta"].map(
  (name) => `io.k8s.apimachinery.pkg.apis.meta.v1.${name}`,
);
const roots = [...kinds.map(({ name }) => name), "io.k8s.api.autoscaling.v1.Scale", ...common];

interface Bundle {
  readonly kubernetes: string;
  readonly definitions: Definitions;
}

function contentOf(definitions: Definitions): string {
  const described = describeDefinitions(reachable(definitions, roots), { ...embeddedTexts, ...builtinTexts });
  const bundle: Bundle = { kubernetes: kubernetesModule.version, definitions: described };
  return `${JSON.stringify(sortKeys(bundle))}\n`;
}

async function generate(): Promise<void> {
  const apiVersions = [...new Set(kinds.map(({ apiVersion }) => apiVersion)), "autoscaling/v1"];
  const definitions = await fetchDefinitions(roots, apiVersions);
  await writeFile(file, contentOf(addEnums(definitions, await fetchEnums())));
  console.log(`Wrote ${relative(root, file)}`);
}

async function check(): Promise<void> {
  const committed = await readFile(file, "utf8");
  const { kubernetes, definitions } = JSON.parse(committed) as Bundle;
  if (kubernetes === kubernetesModule.version && committed === contentOf(definitions)) return;
  console.error(
    `${relative(root, file)} differs from what the sources give: run "make generate" and commit the result`,
  );
  process.exitCode = 1;
}

await (process.argv.includes("--check") ? check() : generate());
