import { expect, test } from "vitest";
import { LimitedUse } from "./limits.ts";

const plain = { isLong: false };
const long = { isLong: true };

test("counts by sandbox, by caller and by connection, and gives places back", () => {
  const use = new LimitedUse({ perSandbox: 3, perCaller: 2, connectionsPerCaller: 1 });
  const first = use.enter("s1", "a", long);
  expect(() => use.enter("s2", "a", long)).toThrow("Too many concurrent connections (limit: 1).");
  const second = use.enter("s1", "a", plain);
  expect(() => use.enter("s2", "a", plain)).toThrow("Too many concurrent requests (limit: 2).");
  use.enter("s1", "b", plain);
  expect(() => use.enter("s1", "c", plain)).toThrow("Too many concurrent requests for the sandbox (limit: 3).");
  first[Symbol.dispose]();
  use.enter("s1", "c", long);
  second[Symbol.dispose]();
  use.enter("s2", "a", long);
});

test("has no limit where that is 0", () => {
  const use = new LimitedUse({ perSandbox: 0, perCaller: 0, connectionsPerCaller: 0 });
  const places = Array.from({ length: 1000 }, () => use.enter("s", "a", long));
  expect(places).toHaveLength(1000);
});
