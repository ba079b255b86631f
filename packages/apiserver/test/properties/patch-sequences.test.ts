import * as fc from "fast-check";
import { applyPatch, type Operation } from "rfc6902";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestApi } from "../../src/testing/test-api.test.support.ts";

const path = "/apis/free.example.com/v1/frees";
const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "frees.free.example.com" },
  spec: {
    group: "free.example.com",
    scope: "Cluster",
    names: { plural: "frees", kind: "Free" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
};

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const names = ["a", "b", "c/d", "e~f"] as const;
const leaf: fc.Arbitrary<Json> = fc.oneof(fc.constantFrom(0, 1, "x", true, null), fc.string({ maxLength: 3 }));
const value: fc.Arbitrary<Json> = fc.letrec<{ node: Json }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, depthIdentifier: "json" },
    leaf,
    fc.array(tie("node"), { maxLength: 3, depthIdentifier: "json" }),
    fc.dictionary(fc.constantFrom(...names), tie("node"), { maxKeys: 3, depthIdentifier: "json" }),
  ),
})).node;
const document = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 4 }) as fc.Arbitrary<{
  [key: string]: Json;
}>;

/** JSON pointers, most of which exist in the generated documents. */
const pointer = fc
  .array(fc.constantFrom("a", "b", "c~1d", "e~0f", "0", "1", "2", "-"), { minLength: 1, maxLength: 3 })
  .map((parts) => `/${parts.join("/")}`);

const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ op: fc.constant("add" as const), path: pointer, value }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("replace" as const), path: pointer, value }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("remove" as const), path: pointer }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("move" as const), from: pointer, path: pointer }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("copy" as const), from: pointer, path: pointer }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("test" as const), path: pointer, value: leaf }) },
);

/** Applies all operations, or returns `undefined` when one fails. */
function jsonOracle(before: Json, operations: readonly Operation[]): Json | undefined {
  const copy = structuredClone(before);
  for (const each of operations) {
    if ("from" in each && valueAt(copy, each.from) === undefined) return undefined;
    // By RFC 6902 a move is a remove followed by an add, which the other implementation does in one step.
    const moved = each.op === "move" ? structuredClone(valueAt(copy, each.from)) : undefined;
    const steps: Operation[] =
      each.op === "move"
        ? [
            { op: "remove", path: each.from },
            { op: "add", path: each.path, value: moved },
          ]
        : [each];
    for (const step of steps) {
      if (leadsNowhere(copy, step) || applyPatch(copy, [step]).some((error) => error !== null)) return undefined;
    }
  }
  return copy;
}

/** The other implementation accepts pointers that RFC 6901 does not: into strings, beyond the end of arrays, and names in arrays. */
function leadsNowhere(root: Json, { op, path }: Operation): boolean {
  if (op !== "add" && op !== "copy") return valueAt(root, path) === undefined;
  const slash = path.lastIndexOf("/");
  const parent = valueAt(root, path.slice(0, slash));
  if (typeof parent !== "object" || parent === null) return true;
  const token = path.slice(slash + 1);
  return Array.isArray(parent) && token !== "-" && !(isIndex.test(token) && Number(token) <= parent.length);
}

const isIndex = /^(0|[1-9]\d*)$/;

function valueAt(root: Json, path: string): Json | undefined {
  let current: Json = root;
  for (const token of path.split("/").slice(1)) {
    if (typeof current !== "object" || current === null) return undefined;
    if (Array.isArray(current) && !isIndex.test(token)) return undefined;
    const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
    if (!Object.hasOwn(current, name)) return undefined;
    current = (current as { [key: string]: Json })[name] as Json;
  }
  return current;
}

/** The algorithm of RFC 7386. */
function mergeOracle(target: Json, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result: { [key: string]: Json } = isObject(target) ? { ...target } : {};
  for (const [name, member] of Object.entries(patch)) {
    if (member === null) delete result[name];
    else result[name] = mergeOracle(result[name] ?? null, member);
  }
  return result;
}

const isObject = (each: Json): each is { [key: string]: Json } =>
  typeof each === "object" && each !== null && !Array.isArray(each);

type Patch = { readonly json: readonly Operation[] } | { readonly merge: Json };
const patch: fc.Arbitrary<Patch> = fc.oneof(
  fc.record({ json: fc.array(operation, { minLength: 1, maxLength: 3 }) }),
  fc.record({ merge: document }),
);

/** Names that the other implementation finds on every object. */
const inherited = new Set(Object.getOwnPropertyNames(Object.prototype));
const isInherited = (text: string): boolean => [...inherited].some((name) => text.includes(name));

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
  await api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
});
afterAll(() => api[Symbol.asyncDispose]());

/** Sends one patch and returns the expected object. */
async function step(name: string, before: Json, each: Patch): Promise<{ status: number; expected: Json | undefined }> {
  if ("merge" in each) {
    const { status } = await api.merge(`${path}/${name}`, { data: each.merge });
    return { status, expected: mergeOracle(before, each.merge) };
  }
  const moved = each.json.map((one) => ({
    ...one,
    path: `/data${one.path}`,
    ...("from" in one ? { from: `/data${one.from}` } : {}),
  }));
  const { status } = await api.json(`${path}/${name}`, moved);
  return { status, expected: jsonOracle(before, each.json) };
}

describe("sequences of patches", () => {
  let count = 0;
  test("give the same results as two independent implementations", async () => {
    await fc.assert(
      fc.asyncProperty(document, fc.array(patch, { minLength: 1, maxLength: 6 }), async (start, patches) => {
        fc.pre(!isInherited(JSON.stringify([start, patches])));
        const name = `n${count++}`;
        await api.create(path, { apiVersion: "free.example.com/v1", kind: "Free", metadata: { name }, data: start });
        let current: Json = start;
        for (const each of patches) {
          const { status, expected } = await step(name, current, each);
          expect({ each, status }).toEqual({ each, status: expected === undefined ? 422 : 200 });
          current = expected ?? current;
          expect((await api.get(`${path}/${name}`))["data"]).toEqual(current);
        }
      }),
      { numRuns: 150 },
    );
  });
});
