import { expect, test } from "vitest";
import { ConcurrencyLimits } from "./concurrency-limits.ts";

const plain = (sandbox: string, caller: string, namespace = "n") => ({ namespace, sandbox, caller, isLong: false });
const long = (sandbox: string, caller: string) => ({ ...plain(sandbox, caller), isLong: true });

test("limits requests per sandbox, per caller and per connection until they end", () => {
  const limits = new ConcurrencyLimits({ perSandbox: 3, perCaller: 2, connectionsPerCaller: 1, total: 0 });
  const first = limits.acquire(long("s1", "a"));
  expect(() => limits.acquire(long("s2", "a"))).toThrow("Too many concurrent connections (limit: 1).");
  const second = limits.acquire(plain("s1", "a"));
  expect(() => limits.acquire(plain("s2", "a"))).toThrow("Too many concurrent requests (limit: 2).");
  limits.acquire(plain("s1", "b"));
  expect(() => limits.acquire(plain("s1", "c"))).toThrow("Too many concurrent requests for the sandbox (limit: 3).");
  first[Symbol.dispose]();
  limits.acquire(long("s1", "c"));
  second[Symbol.dispose]();
  limits.acquire(long("s2", "a"));
});

test("a limit of 0 means no limit", () => {
  const limits = new ConcurrencyLimits({ perSandbox: 0, perCaller: 0, connectionsPerCaller: 0, total: 0 });
  const acquired = Array.from({ length: 1000 }, () => limits.acquire(long("s", "a")));
  expect(acquired).toHaveLength(1000);
});

test("the requests of one namespace leave room for those of another", () => {
  const limits = new ConcurrencyLimits({ perSandbox: 0, perCaller: 0, connectionsPerCaller: 0, total: 10 });
  for (let turn = 0; turn < 5; turn += 1) limits.acquire(plain(`s${turn}`, `c${turn}`, "greedy"));
  expect(() => limits.acquire(plain("s", "c", "greedy"))).toThrow("for the sandboxes of the namespace");
  limits.acquire(plain("s", "c", "other"));
});
