import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { kubernetesModule } from "../../api/generate/kubernetes-definitions.ts";
import { sortKeys } from "../../api/generate/sort-keys.ts";
import { reviewDefinitions } from "../src/authorization/review-definitions.ts";
import { specialTypes } from "../src/protobuf/special-types.ts";
import { builtinKinds } from "../src/resources/builtin-kinds.ts";

/**
 * Writes the protobuf messages of the built-in kinds, so that the server can read bodies in Kubernetes' protobuf format, which
 * client-go's typed clients send by default. Field numbers are taken from the .proto files of the Go modules; which empty values
 * JSON contains, and which fields are inlined, from the Go types. With `--check` it writes nothing, needs no network, and fails
 * unless the committed file comes from the pinned release and contains what the served kinds need.
 */
const modules = {
  "k8s.io/api": "h1:NxB+05W2UGqXWFXcLO0RB5cnqnUPP5v5sVlaOH0Iz4w=",
  "k8s.io/apimachinery": "h1:PkzMRBRG8joFD8EhCuQAtNPvJlxb82FwplP26HIzvAM=",
};
const version = kubernetesModule.version.replace(/^v1\./, "v0.");
const root = join(import.meta.dirname, "../../..");
const file = join(import.meta.dirname, "../src/protobuf/messages.generated.json");

/** JSON name, type, and flags: `r` repeated, `m` map with string keys, `k` kept when empty, `i` inline. */
type Field = readonly [string, string, string];
type Messages = Record<string, Record<string, Field>>;

const meta = "k8s.io.apimachinery.pkg.apis.meta.v1";
/** Left out, because its schemas are recursive and contain values of any type, which have special encodings. */
const left = new Set(["CustomResourceDefinition"]);

const served = [
  ...builtinKinds.flatMap(({ kind, apiVersions = ["v1"] }) =>
    apiVersions.map((apiVersion) => [apiVersion, kind] as const),
  ),
  ...reviewDefinitions.map(({ kind, versions }) => [versions[0].apiVersion, kind] as const),
  ["authentication.k8s.io/v1", "TokenRequest"] as const,
  ["autoscaling/v1", "Scale"] as const,
].filter(([, kind]) => !left.has(kind));

/** By `apiVersion kind`. */
const kinds = Object.fromEntries([
  ...served.map(([apiVersion, kind]) => [`${apiVersion} ${kind}`, `${packageOf(apiVersion)}.${kind}`] as const),
  ["v1 DeleteOptions", `${meta}.DeleteOptions`] as const,
]);

function packageOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  const group = slash < 0 ? "core" : /^[^./]*/.exec(apiVersion)?.[0];
  return `k8s.io.api.${group}.${apiVersion.slice(slash + 1)}`;
}

function download(module: string, sum: string): string {
  const found = JSON.parse(
    execFileSync("go", ["mod", "download", "-json", `${module}@${version}`], { encoding: "utf8" }),
  ) as { Dir: string; Sum: string };
  if (found.Sum !== sum) throw new Error(`Cannot use the Go module "${module}": its sum is "${found.Sum}"`);
  return found.Dir;
}

function folders(): string[] {
  const [api, machinery] = Object.entries(modules).map(([module, sum]) => download(module, sum)) as [string, string];
  const groups = new Set(served.map(([apiVersion]) => packageOf(apiVersion).split(".").slice(3).join("/")));
  const common = ["apis/meta/v1", "api/resource", "util/intstr", "runtime"].map((path) => join(machinery, "pkg", path));
  return [...[...groups].map((path) => join(api, path)), ...common];
}

const scalars = new Set(["string", "bool", "int32", "int64", "uint32", "uint64", "double", "bytes"]);

/** The messages in one folder: numbers and types from its .proto file, the rest from its Go types. */
function messagesIn(folder: string): Messages {
  const proto = readFileSync(join(folder, "generated.proto"), "utf8");
  const goFields = goFieldsIn(folder);
  const own = /^package (\S+);/m.exec(proto)?.[1];
  const messages: Messages = {};
  for (const [, name, body] of proto.matchAll(/^message (\w+) \{\n(.*?)^\}/gms) as Iterable<[string, string, string]>) {
    const fields: Record<string, Field> = {};
    const pattern = /^ {2}(optional |repeated |)(?:map<string, *([\w.]+)>|([\w.]+)) (\w+) = (\d+);/gm;
    for (const [, label, mapOf, type = "", protoName = "", number = ""] of body.matchAll(pattern)) {
      const written = mapOf ?? type;
      const full = written.startsWith(".") ? written.slice(1) : scalars.has(written) ? written : `${own}.${written}`;
      const { json = protoName, flags = "", omitsZero = false } = goFields.get(`${name}.${number}`) ?? {};
      const many = mapOf === undefined ? (label === "repeated " ? "r" : "") : "m";
      const isStructure = many === "" && flags === "" && !omitsZero && !scalars.has(full) && !specialTypes.has(full);
      fields[number] = [json, full, `${many}${isStructure ? "k" : flags}`];
    }
    messages[`${own}.${name}`] = fields;
  }
  return messages;
}

interface GoField {
  readonly json: string;
  readonly flags: string;
  /** Whether Go omits the structure in JSON when it is empty. */
  readonly omitsZero: boolean;
}

function goFieldsIn(folder: string): Map<string, GoField> {
  const fields = new Map<string, GoField>();
  const sources = readdirSync(folder).filter((name) => name.endsWith(".go") && !/_test|generated/.test(name));
  for (const source of sources) {
    const text = readFileSync(join(folder, source), "utf8");
    for (const [, struct, body = ""] of text.matchAll(/^type (\w+) struct \{\n(.*?)^\}/gms)) {
      const pattern = /^\t(?:\w+ +)?(\*?)\S+ +`json:"([^"]*)" protobuf:"\w+,(\d+),/gm;
      for (const [, star, tag = "", number] of body.matchAll(pattern)) {
        const [json = "", ...options] = tag.split(",");
        const inline = options.includes("inline");
        const always = star === "*" || !(inline || options.includes("omitempty") || options.includes("omitzero"));
        const flags = `${always ? "k" : ""}${inline ? "i" : ""}`;
        fields.set(`${struct}.${number}`, { json, flags, omitsZero: options.includes("omitzero") });
      }
    }
  }
  return fields;
}

/** The messages that the kinds refer to. Recursive messages are refused, because the decoder has no depth limit. */
function reachable(all: Messages): Messages {
  const kept: Messages = {};
  const visit = (name: string, within: readonly string[] = []): void => {
    if (within.includes(name)) throw new Error(`Cannot take "${name}": it is recursive`);
    if (scalars.has(name)) return;
    const message = all[name];
    if (message === undefined) throw new Error(`Cannot find the message "${name}"`);
    kept[name] = message;
    for (const [, type] of Object.values(message)) visit(type, [...within, name]);
  };
  for (const name of Object.values(kinds)) visit(name);
  return kept;
}

const contentOf = (messages: Messages): string =>
  `${JSON.stringify(sortKeys({ kubernetes: kubernetesModule.version, kinds, messages: reachable(messages) }))}\n`;

if (process.argv.includes("--check")) {
  const committed = readFileSync(file, "utf8");
  const { kubernetes, messages } = JSON.parse(committed) as { kubernetes: string; messages: Messages };
  if (kubernetes !== kubernetesModule.version || committed !== contentOf(messages)) {
    console.error(`${relative(root, file)} is out of date: run "make generate" and commit the result`);
    process.exitCode = 1;
  }
} else {
  writeFileSync(file, contentOf(Object.assign({}, ...folders().map(messagesIn)) as Messages));
  console.log(`Wrote ${relative(root, file)}`);
}
