import { expect, test } from "vitest";
import { isShared, makeOnceOfShared, onceForShared, share, sharedJson } from "./shared-values.ts";
import { pod, pods, TestApi } from "./testing/test-api.test.support.ts";

test("one value stands for all that are equal", () => {
  const first = share({ a: [1, { b: "c" }] });
  expect(share({ a: [1, { b: "c" }] })).toBe(first);
  expect(share({ a: [1, { b: "d" }] })).not.toBe(first);
  expect(isShared(first)).toBe(true);
  expect(isShared({ a: [1, { b: "c" }] })).toBe(false);
});

test("large values and old ones are let go", () => {
  const large = { text: "x".repeat(40_000) };
  expect(share(large)).toBe(large);
  expect(share({ ...large })).not.toBe(large);
  const first = share({ only: "first" });
  for (let at = 0; at < 512; at += 1) share({ at });
  expect(share({ only: "first" })).not.toBe(first);
});

test("functions are asked once about what is shared, and always about anything else", () => {
  let asked = 0;
  const count = onceForShared(() => (asked += 1));
  const value = share({ asked: "once" });
  expect([count(value), count(value), count({ asked: "once" }), count({ asked: "once" })]).toEqual([1, 1, 2, 3]);
});

test("what is made of a shared value is shared", () => {
  const make = makeOnceOfShared((value) => ({ ...value, made: true }));
  expect(isShared(make(share({ of: "shared" })))).toBe(true);
  expect(isShared(make({ of: "another" }))).toBe(false);
});

test("the text is that of JSON", () => {
  const object = { a: undefined, 'b"': share({ c: ["\u2028", null, -0] }), d: 1, e: [share({ f: {} })] };
  expect(sharedJson(object)).toBe(JSON.stringify(object));
  expect(sharedJson({})).toBe("{}");
  expect(sharedJson({ a: undefined })).toBe("{}");
});

test("a Pod is stored as the first one with its specification was", async () => {
  await using api = await TestApi.start({ nodeName: "box" });
  const first = await api.create(pods, pod("first"));
  const second = await api.create(pods, pod("second"));
  const { metadata: one, ...firstRest } = first;
  const { metadata: other, ...secondRest } = second;
  expect(secondRest).toEqual(firstRest);
  expect(other["managedFields"]).toEqual(one["managedFields"]);
  expect(await api.get(`${pods}/second`)).toEqual(second);
});

test("a Pod is refused for what the first one with its specification was refused for", async () => {
  await using api = await TestApi.start();
  const bad = (name: string): object => ({
    ...pod(name),
    spec: { containers: [{ name: "c", image: "i", env: [{ name: "A=B", value: "" }] }] },
  });
  const [first, second] = [await api.send("POST", pods, bad("same")), await api.send("POST", pods, bad("same"))];
  expect(first.status).toBe(422);
  expect(second).toEqual(first);
});
