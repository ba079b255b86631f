import { hostileValue, mutated } from "./hostile-json.ts";
import { type Sample, samples } from "./kinds.ts";
import type { Random } from "./random.ts";
import { randomRule, randomSchema, slowRules } from "./rule-cases.ts";

export interface HttpCase {
  readonly kind: "http";
  readonly method: string;
  readonly path: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: Buffer | undefined;
}

const name = (random: Random): string => `f${random.below(12)}`;
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value) ?? "");

function named(random: Random, { object }: Sample, own: string): { readonly [field: string]: unknown } {
  const labels = random.chance(0.5) ? { labels: { a: "b" } } : {};
  const finalizers = random.chance(0.03) ? { finalizers: ["example.com/f"] } : {};
  return { ...object, metadata: { name: own, ...labels, ...finalizers } };
}

/** Damages the bytes of a JSON body. */
function broken(random: Random, body: Buffer): Buffer {
  const copy = Buffer.from(body);
  for (let made = 0; made <= random.few(5) && copy.length > 0; made++)
    copy[random.below(copy.length)] = random.below(256);
  return random.chance(0.3) ? copy.subarray(0, random.below(copy.length + 1)) : copy;
}

const contentTypes = [
  ...Array.from({ length: 20 }, () => "application/json"),
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
  "application/cbor",
  "text/plain",
  "",
];

function bodyFor(random: Random, value: unknown): { headers: { "content-type": string }; body: Buffer } {
  const type = random.pick(contentTypes);
  const body = json(value);
  if (type.endsWith("protobuf")) {
    return {
      headers: { "content-type": type },
      body: Buffer.concat([Buffer.from("k8s\0"), random.bytes(random.below(200))]),
    };
  }
  return { headers: { "content-type": type }, body: random.chance(0.15) ? broken(random, body) : body };
}

/** Creates and replaces objects that are nearly valid. */
function bodies(random: Random): HttpCase {
  const sample = random.pick(samples);
  const own = name(random);
  const object = mutated(random, named(random, sample, own), random.chance(0.3) ? 0 : 1 + random.few(3));
  const isNew = random.chance(0.6);
  const query = random.chance(0.2)
    ? `?${random.pick(["dryRun=All", "fieldValidation=Strict", "fieldManager=x", "dryRun=x"])}`
    : "";
  const path = (isNew ? sample.path : `${sample.path}/${own}${random.chance(0.1) ? "/status" : ""}`) + query;
  return { kind: "http", method: isNew ? "POST" : "PUT", path, ...bodyFor(random, object) };
}

const pointers = [
  "/metadata/labels/a",
  "/metadata/name",
  "/spec",
  "/spec/containers/0",
  "/spec/containers/-",
  "",
  "/",
  "/a~2b",
  "/data/a",
  "/metadata/finalizers/0",
  "/status",
  "//",
  "/spec/containers/99999999999",
];

function jsonPatch(random: Random): unknown {
  const operation = (): unknown => ({
    op: random.pick(["add", "remove", "replace", "move", "copy", "test", "nonsense"]),
    path: random.pick(pointers),
    from: random.pick(pointers),
    value: hostileValue(random),
  });
  return random.chance(0.1) ? hostileValue(random) : random.times(random.pick([1, 2, 5, 200]), operation);
}

function patches(random: Random): HttpCase {
  const sample = random.pick(samples);
  const own = name(random);
  const type = random.pick([
    "json-patch+json",
    "merge-patch+json",
    "strategic-merge-patch+json",
    "apply-patch+yaml",
    "nonsense+json",
  ]);
  const part = mutated(random, named(random, sample, own), 1 + random.few(4));
  const value = type === "json-patch+json" ? jsonPatch(random) : part;
  const query =
    type === "apply-patch+yaml" ? `?fieldManager=${random.pick(["m", "n", ""])}&force=${random.chance(0.5)}` : "";
  const body = random.chance(0.1) ? broken(random, json(value)) : json(value);
  const path = `${sample.path}/${own}${random.chance(0.15) ? random.pick(["/status", "/scale", "/nonsense"]) : ""}${query}`;
  return { kind: "http", method: "PATCH", path, headers: { "content-type": `application/${type}` }, body };
}

const words = [
  "a",
  "b",
  "in",
  "notin",
  "=",
  "==",
  "!=",
  "!",
  ",",
  "(",
  ")",
  "()",
  " ",
  "metadata.name",
  "status.phase",
  "f1",
  "\u0000",
  "%",
  "😀",
  "a/b/c",
  "x".repeat(300),
  "\\",
  "\\,",
  "\\=",
];
const text = (random: Random): string => random.times(random.few(12), () => random.pick(words)).join("");

function selectors(random: Random): HttpCase {
  const { path } = random.pick(samples);
  const params = new URLSearchParams();
  for (const key of ["labelSelector", "fieldSelector"]) if (random.chance(0.6)) params.set(key, text(random));
  for (const key of [
    "limit",
    "continue",
    "resourceVersion",
    "resourceVersionMatch",
    "timeoutSeconds",
    "sendInitialEvents",
    "allowWatchBookmarks",
    "pretty",
  ]) {
    if (random.chance(0.15))
      params.append(
        key,
        random.pick([
          "0",
          "1",
          "-1",
          "99999999999999999999",
          "Exact",
          "NotOlderThan",
          "true",
          "x",
          "",
          Buffer.from('{"v":"meta.k8s.io/v1","rv":-1,"start":"\\u0000"}').toString("base64url"),
        ]),
      );
  }
  const accept = random.pick([
    "application/json",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/vnd.kubernetes.protobuf",
    "*/*",
    "nonsense;;;q=2",
    "application/yaml",
  ]);
  if (random.chance(0.15)) {
    params.set("watch", "1");
    params.set("timeoutSeconds", "1");
  }
  const method = random.chance(0.05) ? "DELETE" : "GET";
  return { kind: "http", method, path: `${path}?${params.toString()}`, headers: { accept }, body: undefined };
}

const segments = [
  "api",
  "apis",
  "v1",
  "namespaces",
  "default",
  "pods",
  "f1",
  "status",
  "..",
  ".",
  "",
  "%2e%2e",
  "%2F",
  "%00",
  "%ff",
  "%zz",
  "openapi",
  "v2",
  "v3",
  "version",
  "healthz",
  "readyz",
  "log",
  "exec",
  "proxy",
  "scale",
  "token",
  "x".repeat(3000),
  "__proto__",
  "constructor",
  "metrics",
  "?",
  "#",
  "😀",
];

function paths(random: Random): HttpCase {
  const path = `/${random.times(random.below(9), () => random.pick(segments)).join("/")}`;
  const method = random.pick(["GET", "GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]);
  const hasBody = method !== "GET" && method !== "HEAD" && random.chance(0.5);
  return {
    kind: "http",
    method,
    path: encodeURI(path).replaceAll("%25", "%"),
    headers: {},
    body: hasBody ? json(hostileValue(random)) : undefined,
  };
}

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

function definition(random: Random, plural: string, schema: unknown): object {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.fuzz.example.com` },
    spec: {
      group: "fuzz.example.com",
      scope: "Namespaced",
      names: { plural, kind: `K${plural}` },
      ...(random.chance(0.1) ? { conversion: hostileValue(random) } : {}),
      versions: [
        { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema }, subresources: { status: {} } },
      ],
    },
  };
}

const ruled = (rule: string): object => ({
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        s: { type: "string" },
        n: { type: "integer" },
        l: { type: "array", items: { type: "integer" } },
        m: { type: "object", additionalProperties: { type: "string" } },
      },
      "x-kubernetes-validations": [{ rule }],
    },
  },
});

/** CustomResourceDefinitions with random schemas and rules, and objects for them. */
function definitions(random: Random): HttpCase {
  const plural = `things${random.below(6)}`;
  const headers = { "content-type": "application/json" };
  if (random.chance(0.35)) {
    const schema = random.chance(0.5)
      ? ruled(random.chance(0.3) ? random.pick(slowRules) : randomRule(random, 4))
      : randomSchema(random, 3);
    const body = json(mutated(random, definition(random, plural, schema), random.few(1)));
    return { kind: "http", method: "POST", path: crds, headers, body };
  }
  if (random.chance(0.15)) {
    return { kind: "http", method: "DELETE", path: `${crds}/${plural}.fuzz.example.com`, headers, body: undefined };
  }
  const size = random.pick([1, 10, 300, 5000]);
  const spec = { s: "a".repeat(size * 10), n: size, l: Array.from({ length: size }, (_, at) => at), m: { a: "b" } };
  const object = { apiVersion: "fuzz.example.com/v1", kind: `K${plural}`, metadata: { name: name(random) }, spec };
  const body = json(mutated(random, object, random.few(2)));
  return {
    kind: "http",
    method: "POST",
    path: `/apis/fuzz.example.com/v1/namespaces/default/${plural}`,
    headers,
    body,
  };
}

function deletions(random: Random): HttpCase {
  const { path } = random.pick(samples);
  const options = {
    gracePeriodSeconds: random.pick<unknown>([0, 1, -1, "x"]),
    propagationPolicy: random.pick(["Foreground", "Background", "Orphan", "x"]),
    preconditions: hostileValue(random),
  };
  const body = random.chance(0.5) ? json(mutated(random, options, random.few(2))) : undefined;
  return {
    kind: "http",
    method: "DELETE",
    path: `${path}/${name(random)}`,
    headers: { "content-type": "application/json" },
    body,
  };
}

const makers: readonly ((random: Random) => HttpCase)[] = [
  bodies,
  bodies,
  patches,
  patches,
  selectors,
  paths,
  definitions,
  definitions,
  deletions,
];

export function httpCase(random: Random): HttpCase {
  return random.pick(makers)(random);
}
