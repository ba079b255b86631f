import * as fc from "fast-check";
import { createPatch } from "rfc6902";
import { describe, expect, test } from "vitest";
import { jsonPatch } from "./json-patch.ts";

describe("jsonPatch()", () => {
  test.for([
    ["adds a member", { a: 1 }, [{ op: "add", path: "/b", value: 2 }], { a: 1, b: 2 }],
    ["inserts into an array", { a: [1, 3] }, [{ op: "add", path: "/a/1", value: 2 }], { a: [1, 2, 3] }],
    ["appends with -", { a: [1] }, [{ op: "add", path: "/a/-", value: 2 }], { a: [1, 2] }],
    [
      "removes",
      { a: 1, b: [1, 2] },
      [
        { op: "remove", path: "/a" },
        { op: "remove", path: "/b/0" },
      ],
      { b: [2] },
    ],
    ["replaces", { a: { b: 1 } }, [{ op: "replace", path: "/a/b", value: null }], { a: { b: null } }],
    ["moves", { a: { b: 1 } }, [{ op: "move", from: "/a/b", path: "/c" }], { a: {}, c: 1 }],
    [
      "copies",
      { a: [1] },
      [
        { op: "copy", from: "/a", path: "/b" },
        { op: "add", path: "/b/-", value: 2 },
      ],
      { a: [1], b: [1, 2] },
    ],
    [
      "compares objects whatever the order of their keys",
      { a: { x: 1, y: 2 } },
      [{ op: "test", path: "/a", value: { y: 2, x: 1 } }],
      { a: { x: 1, y: 2 } },
    ],
    [
      "decodes ~1 and ~0",
      { "a/b": 1, "c~d": 2 },
      [
        { op: "remove", path: "/a~1b" },
        { op: "remove", path: "/c~0d" },
      ],
      {},
    ],
    ["replaces the whole document", { a: 1 }, [{ op: "replace", path: "", value: { b: 2 } }], { b: 2 }],
  ] as const)("%s", ([, document, operations, expected]) => {
    expect(jsonPatch(document, operations)).toEqual({ value: expected });
  });

  test.for([
    [{ op: "add", path: "/b/c", value: 1 }],
    [{ op: "add", path: "/list/5", value: 1 }],
    [{ op: "add", path: "/list/01", value: 1 }],
    [{ op: "add", path: "a", value: 1 }],
    [{ op: "add", path: "/x~2", value: 1 }],
    [{ op: "add", path: "/x" }],
    [{ op: "remove", path: "/nothing" }],
    [{ op: "remove", path: "/list/2" }],
    [{ op: "remove", path: "" }],
    [{ op: "replace", path: "/nothing", value: 1 }],
    [{ op: "replace", path: "/list/-", value: 1 }],
    [{ op: "test", path: "/a", value: 2 }],
    [{ op: "test", path: "/nothing", value: null }],
    [{ op: "move", from: "/deep", path: "/deep/in" }],
    [{ op: "move", from: "/nothing", path: "/x" }],
    [{ op: "copy", from: "/nothing", path: "/x" }],
    [{ op: "add", path: "/__proto__/polluted", value: 1 }],
    [{ op: "add", path: "/constructor/prototype", value: 1 }],
    [{ op: "frobnicate", path: "/a" }],
    ["not an operation"],
  ])("refuses %j and does not change the document", (operations) => {
    const document = { a: 1, list: [1, 2], deep: { in: 1 } };
    const before = structuredClone(document);
    expect(jsonPatch(document, operations)).toHaveProperty("problem");
    expect(document).toEqual(before);
    expect({}).not.toHaveProperty("polluted");
  });

  test("refuses a patch whose copies double the document again and again", () => {
    const operations = Array.from({ length: 64 }, (_, at) => ({ op: "copy", from: "/a", path: `/a/${at}` }));
    expect(jsonPatch({ a: [[]] }, operations)).toHaveProperty("problem");
  });

  const inherited = Object.getOwnPropertyNames(Object.prototype);
  test("applies the patches that an independent implementation creates", () => {
    const document = fc.dictionary(fc.constantFrom("a", "b", "c/d", "e~f"), fc.jsonValue({ maxDepth: 3 }));
    fc.assert(
      fc.property(document, document, (before, after) => {
        // rfc6902 treats inherited members as members of the document.
        fc.pre(!inherited.some((name) => JSON.stringify([before, after]).includes(`"${name}"`)));
        expect(jsonPatch(before, createPatch(before, after))).toEqual({ value: after });
      }),
    );
  });
});
