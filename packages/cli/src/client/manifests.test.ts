import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { parseManifests, readManifests } from "./manifests.ts";

const head = "apiVersion: v1\nkind: Pod\nmetadata: { name: a }\n";

test("reads several documents, skips empty ones and opens lists", () => {
  const list = '{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}]}';
  const names = parseManifests(`---\n${head}---\n---\n${list}\n`, "f").map(({ metadata }) => metadata.name);
  expect(names).toEqual(["a", "b"]);
});

test.for([
  ["0644", 420],
  ["0o644", 420],
  ["yes", true],
  ["off", false],
  ["'yes'", "yes"],
  ["2026-03-01", "2026-03-01"],
  ["2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z"],
  ["1:30", "1:30"],
  ["1e3", 1000],
] as const)("reads the scalar %s as Kubernetes does", ([text, expected]) => {
  expect(parseManifests(`${head}value: ${text}\n`, "f")[0]).toHaveProperty("value", expected);
});

const bomb = [
  "a: &a [x,x,x,x,x,x,x,x,x]",
  ...["b", "c", "d", "e", "f"].map((name, index) => {
    const before = String.fromCodePoint(97 + index);
    return `${name}: &${name} [${`*${before},`.repeat(9)}]`;
  }),
].join("\n");

test.for([
  ["nothing", "", "contains no objects"],
  ["broken YAML", "a: [", "Cannot read"],
  ["no kind", "apiVersion: v1\nmetadata: { name: a }", "object 1 has no kind"],
  ["no name", "apiVersion: v1\nkind: Pod", "object 1 has no metadata.name"],
  ["a name that is no text", "apiVersion: v1\nkind: Pod\nmetadata: { name: 1 }", "object 1 has no metadata.name"],
  ["a scalar", "just words", "object 1 has no apiVersion"],
  ["an alias bomb", `${head}${bomb}`, "alias"],
] as const)("refuses %s", ([, text, message]) => {
  expect(() => parseManifests(text, "f")).toThrow(message);
});

test("refuses YAML aliases that multiply, with a message of one line", () => {
  const lines = ["a: &a [x, x, x, x, x, x, x, x, x]"];
  for (let i = 0; i < 6; i++) {
    const [from, to] = ["abcdefg"[i], "abcdefg"[i + 1]];
    lines.push(`${to}: &${to} [${Array(9).fill(`*${from}`).join(", ")}]`);
  }
  expect(() => parseManifests(lines.join("\n"), "bomb.yaml")).toThrow(
    /^Cannot read "bomb.yaml": Excessive alias count/,
  );
});

test("the error for a folder names it", async () => {
  await expect(readManifests(["/tmp"])).rejects.toThrow('Cannot read "/tmp": it is a folder');
});

test("standard input may come slowly, and is limited", async () => {
  const slowly = async function* (): AsyncGenerator<Buffer> {
    yield Buffer.from("apiVersion: v1\nkind: Pod\n");
    await new Promise((resolve) => setImmediate(resolve));
    yield Buffer.from("metadata: { name: slow }\n");
  };
  expect(await readManifests(["-"], Readable.from(slowly()))).toMatchObject([
    { kind: "Pod", metadata: { name: "slow" } },
  ]);
  const endless = async function* (): AsyncGenerator<Buffer> {
    for (;;) yield Buffer.alloc(1024 * 1024);
  };
  await expect(readManifests(["-"], Readable.from(endless()))).rejects.toThrow("it is larger than 16 MiB");
});

test("reads several files in their order, and standard input once", async () => {
  const read = await readManifests(["examples/first-sandbox.yaml", "-"], Readable.from([Buffer.from(head)]));
  expect(read.map(({ kind }) => kind)).toEqual(["Sandbox", "Pod"]);
  await expect(readManifests(["-", "-"], Readable.from([]))).rejects.toThrow("Cannot read standard input twice");
});
