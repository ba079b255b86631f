import { describe, expect, test } from "vitest";
import { fillIn } from "./case.ts";
import { differences, render } from "./compare.ts";
import { Exceptions } from "./exceptions.ts";
import { eachLine, normaliseJson, normaliseTable, normaliseText } from "./normalise.ts";

const rules = { url: "https://127.0.0.1:6443", managedFields: false };
const now = new Date().toISOString().replace(/\.\d+/, "");

describe("normalising", () => {
  test.for<[string, unknown, unknown]>([
    [
      "what the server made up",
      { uid: crypto.randomUUID(), resourceVersion: "17" },
      { uid: "<uid>", resourceVersion: "<revision>" },
    ],
    ["times of this hour", { creationTimestamp: now }, { creationTimestamp: "<time>" }],
    ["but keeps other times", { renewTime: "2024-01-01T00:00:00Z" }, { renewTime: "2024-01-01T00:00:00Z" }],
    ["random suffixes", { generateName: "a-", name: "a-bcd24" }, { generateName: "a-", name: "a-<suffix>" }],
    ["but keeps chosen names", { name: "a-bcd24" }, { name: "a-bcd24" }],
    ["owners of fields", { name: "a", managedFields: [{}] }, { name: "a" }],
    ["bookmarks, which are sent at any time", [{ type: "BOOKMARK", object: { metadata: {} } }], []],
    [
      "no bookmarks that end the initial events",
      [{ type: "BOOKMARK", object: { metadata: { annotations: {} } } }],
      [{ type: "BOOKMARK", object: { metadata: { annotations: {} } } }],
    ],
  ])("removes %s", ([, given, expected]) => {
    expect(normaliseJson(given, rules)).toEqual(expected);
  });

  test("compares discovery by name, in any order", () => {
    const list = (...names: string[]) => ({
      kind: "APIResourceList",
      resources: names.map((name) => ({ name, singularName: "", verbs: ["watch", "get"] })),
    });
    const one = { singularName: "", verbs: ["get", "watch"] };
    const expected = { kind: "APIResourceList", resources: { a: { name: "a", ...one }, b: { name: "b", ...one } } };
    expect(normaliseJson(list("b", "a"), rules)).toEqual(expected);
  });

  test("compares lines in any order", () => {
    expect(eachLine("b\na")).toEqual(eachLine("a\nb"));
    expect(eachLine("a\nb")).not.toEqual(eachLine("a"));
  });

  test("replaces the address of the server", () => {
    expect(normaliseText("dial 127.0.0.1:6443: see https://127.0.0.1:6443/api", rules)).toBe(
      "dial <address>: see <server>/api",
    );
  });

  test("removes ages from tables, and the column widths that depend on them", () => {
    expect(normaliseTable("NAME   AGE\na      12s\nb2m    1m3s")).toBe("NAME  AGE\na  <age>\nb2m  <age>");
  });
});

describe("comparing", () => {
  test("finds the smallest parts that differ", () => {
    const theirs = [{ status: 200, headers: {}, body: { a: 1, list: [1, 2], same: true } }];
    const ours = [{ status: 200, headers: {}, body: { a: 2, list: [1], same: true } }];
    expect(differences(theirs, ours, "")).toEqual([
      { path: ".0.body.a", theirs: 1, ours: 2 },
      { path: ".0.body.list", theirs: [1, 2], ours: [1] },
    ]);
  });

  test("summarises responses of different kinds", () => {
    const theirs = { status: 201, headers: {}, body: { kind: "Pod", spec: {} } };
    const ours = { status: 422, headers: {}, body: { kind: "Status", reason: "Invalid", message: "no" } };
    expect(differences(theirs, ours, "0")).toEqual([
      {
        path: "0",
        theirs: { status: 201, kind: "Pod" },
        ours: { status: 422, kind: "Status", reason: "Invalid", message: "no" },
      },
    ]);
  });

  test("prints lines of both servers", () => {
    expect(render({ path: "0.stdout", theirs: "a\nb", ours: "a\nc" })).toBe("0.stdout:\n    a\n  - b\n  + c");
  });
});

describe("exceptions", () => {
  test("match only their path, and report when they are not used", () => {
    const known = new Exceptions([{ why: "so", at: ["* create: 0.body.*", "pods create: 9"] }]);
    const at = (path: string) => ({ path, theirs: 1, ours: 2 });
    expect(known.unexpected("pods create", [at("0.body.a"), at("1.body.a")])).toEqual([at("1.body.a")]);
    expect(known.unused).toEqual(["pods create: 9"]);
  });

  test("for lacking values do not match wrong values", () => {
    const known = new Exceptions([{ why: "so", lacking: ["list: 0.resources.*"] }]);
    const wrong = { path: "0.resources.a", theirs: { verbs: ["get"] }, ours: { verbs: [] } };
    expect(known.unexpected("list", [wrong, { ...wrong, ours: undefined }])).toEqual([wrong]);
  });
});

test("a step that uses a value that was not saved fails", () => {
  const known = new Map([["ns", "x"]]);
  expect(fillIn({ path: "/{{ns}}", list: ["{{ns}}"] }, known)).toEqual({ path: "/x", list: ["x"] });
  expect(() => fillIn("{{rv}}", known)).toThrow('Cannot fill in "{{rv}}": no earlier step saved it');
});
