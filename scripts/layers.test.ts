import { describe, expect, test } from "vitest";
import { folderViolations, importsOf, violations } from "./layers.ts";

describe("importsOf()", () => {
  test("finds static, type-only, re-exported and dynamic imports", () => {
    const source = [
      'import { a } from "@agent-sandbox/api";',
      'import type { b } from "@agent-sandbox/kube";',
      'export * from "./x.ts";',
      'import "side-effect";',
      'const lazy = await import("@agent-sandbox/node");',
      'import {\n  c,\n} from "@agent-sandbox/cli";',
    ].join("\n");
    expect(importsOf(source)).toEqual([
      { specifier: "@agent-sandbox/api", typeOnly: false },
      { specifier: "@agent-sandbox/kube", typeOnly: true },
      { specifier: "./x.ts", typeOnly: false },
      { specifier: "side-effect", typeOnly: false },
      { specifier: "@agent-sandbox/node", typeOnly: false },
      { specifier: "@agent-sandbox/cli", typeOnly: false },
    ]);
  });
});

describe("violations()", () => {
  const table = { api: {}, kube: { api: "types" }, controllers: { api: "values" } } as const;
  test.for([
    ["a package may import itself", "api", { specifier: "@agent-sandbox/api/x", typeOnly: false }, []],
    ["an allowed value import", "controllers", { specifier: "@agent-sandbox/api", typeOnly: false }, []],
    ["an allowed type import", "kube", { specifier: "@agent-sandbox/api", typeOnly: true }, []],
    [
      "a value import where only types are allowed",
      "kube",
      { specifier: "@agent-sandbox/api", typeOnly: false },
      ['imports values from "@agent-sandbox/api": kube may import only types from api'],
    ],
    [
      "an import against the direction",
      "api",
      { specifier: "@agent-sandbox/kube", typeOnly: true },
      ['imports "@agent-sandbox/kube": api may not import kube'],
    ],
    [
      "a path into another package",
      "controllers",
      { specifier: "../../node/src/x.ts", typeOnly: false },
      ['imports "../../node/src/x.ts": import another package by its name'],
    ],
    [
      "a generator of a package that may be imported",
      "controllers",
      { specifier: "../../api/generate/x.ts", typeOnly: false },
      [],
    ],
    [
      "a generator of a package that may not be imported",
      "api",
      { specifier: "../../kube/generate/x.ts", typeOnly: false },
      ['imports "../../kube/generate/x.ts": api may not import kube'],
    ],
  ] as const)("%s", ([, owner, found, expected]) => {
    expect(violations(owner, [found], table)).toEqual(expected);
  });
});

describe("folderViolations()", () => {
  const layers = ["client", "watch", "cache"];
  test.for([
    ["a lower folder", "watch", "../client/x.ts", []],
    ["a file of the package", "watch", "../errors.ts", []],
    ["a higher folder", "watch", "../cache/x.ts", ['imports "../cache/x.ts": watch is below cache']],
    [
      "a higher folder from a nested one",
      "client",
      "../../watch/x.ts",
      ['imports "../../watch/x.ts": client is below watch'],
    ],
    ["an unknown folder", "extra", "./x.ts", ['folder "extra" is not in scripts/packages.ts']],
  ] as const)("%s", ([, folder, specifier, expected]) => {
    expect(folderViolations(folder, [{ specifier, typeOnly: true }], layers)).toEqual(expected);
  });
});
