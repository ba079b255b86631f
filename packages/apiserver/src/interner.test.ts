import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Interner } from "./interner.ts";
import { pod, pods, TestApi } from "./testing/test-api.test.support.ts";

describe("Interner", () => {
  test("returns the same object for equal values", () => {
    const interner = new Interner();
    const first = interner.intern({ a: [1, { b: "c" }] });
    expect(interner.intern({ a: [1, { b: "c" }] })).toBe(first);
    expect(interner.intern({ a: [1, { b: "d" }] })).not.toBe(first);
    expect(interner.isInterned(first)).toBe(true);
    expect(interner.isInterned({ a: [1, { b: "c" }] })).toBe(false);
  });

  test("does not share values with another interner", () => {
    const first = new Interner().intern({ a: 1 });
    const other = new Interner();
    expect(other.isInterned(first)).toBe(false);
    expect(other.intern({ a: 1 })).not.toBe(first);
  });

  test("does not keep large values, and drops the oldest of many", () => {
    const interner = new Interner();
    const large = { text: "x".repeat(40_000) };
    expect(interner.intern(large)).toBe(large);
    expect(interner.intern({ ...large })).not.toBe(large);
    const first = interner.intern({ only: "first" });
    for (let at = 0; at < 512; at += 1) interner.intern({ at });
    expect(interner.intern({ only: "first" })).not.toBe(first);
  });

  test("calls a memoized function once for an interned value, and each time for others", () => {
    const interner = new Interner();
    let calls = 0;
    const count = (): number => (calls += 1);
    const memo = (value: Record<string, unknown>): number => interner.memo(count, value);
    const value = interner.intern({ asked: "once" });
    expect([memo(value), memo(value), memo({ asked: "once" }), memo({ asked: "once" })]).toEqual([1, 1, 2, 3]);
  });

  test("interns what is derived from an interned value", () => {
    const interner = new Interner();
    const make = (value: object): Record<string, unknown> => ({ ...value, made: true });
    expect(interner.isInterned(interner.derive(make, interner.intern({ of: "interned" })))).toBe(true);
    expect(interner.isInterned(interner.derive(make, { of: "another" }))).toBe(false);
  });

  test.for([false, true])("writes the same text as JSON.stringify (freeze: %s)", (freeze) => {
    const interner = new Interner({ freeze });
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), (spec, other) => {
        const object = { spec: interner.intern(spec), other, missing: undefined };
        expect(interner.stringify(object)).toBe(JSON.stringify(object));
        // The second time, the text of the spec is known.
        expect(interner.stringify(object)).toBe(JSON.stringify(object));
      }),
    );
    expect(interner.stringify({})).toBe("{}");
    expect(interner.stringify({ a: undefined })).toBe("{}");
  });

  test("freezes values only with that option", () => {
    const spec = { containers: [{ name: "c" }] };
    expect(Object.isFrozen(new Interner().intern(structuredClone(spec)))).toBe(false);
    const frozen = new Interner({ freeze: true }).intern(structuredClone(spec)) as typeof spec;
    expect(Object.isFrozen(frozen.containers[0])).toBe(true);
  });
});

// Production does not freeze stored objects.
describe.for([false, true])("a server (freezeObjects: %s)", (freezeObjects) => {
  test("stores a Pod like the first one with the same spec", async () => {
    await using api = await TestApi.start({ nodeName: "box", freezeObjects });
    const first = await api.create(pods, pod("first"));
    const second = await api.create(pods, pod("second"));
    const { metadata: one, ...firstRest } = first;
    const { metadata: other, ...secondRest } = second;
    expect(secondRest).toEqual(firstRest);
    expect(other["managedFields"]).toEqual(one["managedFields"]);
    expect(await api.get(`${pods}/second`)).toEqual(second);
  });

  test("refuses a Pod for the same reasons as the first one with the same spec", async () => {
    await using api = await TestApi.start({ freezeObjects });
    const invalid = (name: string): object => ({
      ...pod(name),
      spec: { containers: [{ name: "c", image: "i", env: [{ name: "A=B", value: "" }] }] },
    });
    const first = await api.send("POST", pods, invalid("same"));
    const second = await api.send("POST", pods, invalid("same"));
    expect(first.status).toBe(422);
    expect(second).toEqual(first);
  });
});
