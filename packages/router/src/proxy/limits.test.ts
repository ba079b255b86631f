import { expect, test } from "vitest";
import { LimitedUse } from "./limits.ts";

const plain = (sandbox: string, caller: string, namespace = "n") => ({ namespace, sandbox, caller, isLong: false });
const long = (sandbox: string, caller: string) => ({ ...plain(sandbox, caller), isLong: true });

test("counts by sandbox, by caller and by connection, and gives places back", () => {
  const use = new LimitedUse({ perSandbox: 3, perCaller: 2, connectionsPerCaller: 1, inAll: 0 });
  const first = use.enter(long("s1", "a"));
  expect(() => use.enter(long("s2", "a"))).toThrow("Too many concurrent connections (limit: 1).");
  const second = use.enter(plain("s1", "a"));
  expect(() => use.enter(plain("s2", "a"))).toThrow("Too many concurrent requests (limit: 2).");
  use.enter(plain("s1", "b"));
  expect(() => use.enter(plain("s1", "c"))).toThrow("Too many concurrent requests for the sandbox (limit: 3).");
  first[Symbol.dispose]();
  use.enter(long("s1", "c"));
  second[Symbol.dispose]();
  use.enter(long("s2", "a"));
});

test("has no limit where that is 0", () => {
  const use = new LimitedUse({ perSandbox: 0, perCaller: 0, connectionsPerCaller: 0, inAll: 0 });
  const places = Array.from({ length: 1000 }, () => use.enter(long("s", "a")));
  expect(places).toHaveLength(1000);
});

test("the requests for one namespace leave room for those for another", () => {
  const use = new LimitedUse({ perSandbox: 0, perCaller: 0, connectionsPerCaller: 0, inAll: 10 });
  for (let turn = 0; turn < 5; turn += 1) use.enter(plain(`s${turn}`, `c${turn}`, "greedy"));
  expect(() => use.enter(plain("s", "c", "greedy"))).toThrow("for the sandboxes of the namespace");
  use.enter(plain("s", "c", "other"));
});
