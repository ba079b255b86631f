import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type { CustomResourceDefinition } from "@agent-sandbox/api";
import { customResourceDefinition, type KindDescription } from "./crd.ts";
import { kinds } from "./kinds.ts";
import { type Definitions, fetchDefinitions, kubernetesModule } from "./kubernetes-definitions.ts";
import { describeDefinitions, embeddedTexts } from "./kubernetes-descriptions.ts";
import { structuralSchemaOf } from "./kubernetes-structural.ts";
import { sortKeys } from "./sort-keys.ts";
import { toYaml } from "./yaml.ts";
import { structuralSchemaOfZod } from "./zod-structural.ts";

/**
 * Writes the generated files: the definitions taken from Kubernetes, the CRDs as YAML for `kubectl`, and the CRDs as one JSON
 * bundle for programs. With `--check` it writes nothing, needs no network, and fails if a committed file is out of date.
 */
const root = join(import.meta.dirname, "../../..");
const definitionsFile = join(import.meta.dirname, "kubernetes.generated.json");
const bundleFile = join(root, "packages/api/src/crds.generated.json");
const roots = [
  "io.k8s.api.core.v1.PodSpec",
  "io.k8s.api.core.v1.PersistentVolumeClaimSpec",
  "io.k8s.api.networking.v1.NetworkPolicyIngressRule",
  "io.k8s.api.networking.v1.NetworkPolicyEgressRule",
];

function crdFiles(definitions: Definitions): Map<string, string> {
  const described = describeDefinitions(definitions, embeddedTexts);
  const schemaOf = (schema: Parameters<typeof structuralSchemaOfZod>[0]) =>
    structuralSchemaOfZod(schema, (name) => structuralSchemaOf(described, name));
  const definitionOf = (kind: KindDescription) => sortKeys(customResourceDefinition(kind, schemaOf));
  const crds = kinds.map(definitionOf);
  const yaml = kinds
    .filter(({ isForeign }) => isForeign !== true)
    .map(definitionOf)
    .map((crd) => [yamlFile(crd), toYaml(crd)] as const);
  return new Map([...yaml, [bundleFile, `${JSON.stringify(crds)}\n`]]);
}

function yamlFile({ spec }: CustomResourceDefinition): string {
  return join(root, "deploy/crds", `${spec.group}_${spec.names.plural}.yaml`);
}

async function generate(): Promise<void> {
  console.log(`Taking Kubernetes' types from the Go module ${kubernetesModule.path}@${kubernetesModule.version}`);
  const definitions = await fetchDefinitions(roots);
  const files = crdFiles(definitions).set(definitionsFile, `${JSON.stringify(definitions, undefined, 1)}\n`);
  for (const [path, content] of files) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
    console.log(`Wrote ${relative(root, path)}`);
  }
}

async function check(): Promise<void> {
  const definitions = JSON.parse(await readFile(definitionsFile, "utf8")) as Definitions;
  for (const [path, content] of crdFiles(definitions)) {
    const committed = await readFile(path, "utf8").catch(() => undefined);
    if (committed === content) continue;
    const state = committed === undefined ? "is missing" : "differs from what the sources give";
    console.error(`${relative(root, path)} ${state}: run "make generate" and commit the result`);
    process.exitCode = 1;
  }
}

await (process.argv.includes("--check") ? check() : generate());
