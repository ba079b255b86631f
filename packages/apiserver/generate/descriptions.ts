import { writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fetchDocuments, kubernetesModule, reachable } from "../../api/generate/kubernetes-definitions.ts";
import { fetchEnums } from "../../api/generate/kubernetes-enums.ts";
import { sortKeys } from "../../api/generate/sort-keys.ts";
import { reviewDefinitions } from "../src/authorization/review-definitions.ts";
import type { Descriptions } from "../src/openapi/descriptions.ts";
import { definitionNameOf } from "../src/resources/builtin-kinds.ts";
import { servedDefinitions, servedVersions } from "./served-definitions.ts";

/**
 * Writes the descriptions of all fields of the built-in kinds, as Kubernetes publishes them, for `kubectl explain`. The file is
 * not committed. `make setup` runs this when the file is missing or from another release than the pinned one.
 */
const root = join(import.meta.dirname, "../../..");
const file = join(import.meta.dirname, "../src/openapi/descriptions.generated.json");

async function generate(): Promise<void> {
  const reviews = reviewDefinitions.flatMap(({ kind, versions }) =>
    versions.map(({ apiVersion }) => ({ apiVersion, name: definitionNameOf(apiVersion, kind) })),
  );
  const documents = await fetchDocuments([...servedVersions, ...reviews.map(({ apiVersion }) => apiVersion)]);
  const kinds = [...servedDefinitions, ...reviews.map(({ name }) => name)];
  const lists = kinds.map((name) => `${name}List`).filter((name) => name in documents);
  const enums = await fetchEnums();
  const names = Object.keys(reachable(documents, [...kinds, ...lists]));
  const definitions = names.map((name) => {
    const { description, properties = {} } = documents[name] ?? {};
    const fields = Object.entries(properties).flatMap(([field, schema]) => {
      const text = enums[name]?.[field]?.description ?? schema.description;
      return text === undefined ? [] : [[field, text]];
    });
    return [name, { description, fields: Object.fromEntries(fields) }];
  });
  const content: Descriptions = { kubernetes: kubernetesModule.version, definitions: Object.fromEntries(definitions) };
  await writeFile(file, `${JSON.stringify(sortKeys(content))}\n`);
  console.log(`Wrote ${relative(root, file)}`);
}

await generate();
