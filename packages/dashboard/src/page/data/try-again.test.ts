import { expect, test } from "vitest";
import { tryAgain } from "./try-again.ts";

const failing = (times: number, error: Error) => {
  const calls = { count: 0 };
  const read = async (): Promise<string> => {
    calls.count += 1;
    if (calls.count <= times) throw error;
    return "read";
  };
  return { calls, read };
};

test("reads again when a connection was dropped", async () => {
  const { calls, read } = failing(2, new TypeError("Failed to fetch"));
  expect(await tryAgain(read, 1)).toBe("read");
  expect(calls.count).toBe(3);
});

test("gives up after some repetitions", async () => {
  const { calls, read } = failing(100, new TypeError("Failed to fetch"));
  await expect(tryAgain(read, 100)).rejects.toThrow("Failed to fetch");
  expect(calls.count).toBe(3);
});

test("does not repeat what a server refused or a caller ended", async () => {
  for (const error of [new Error("403"), new DOMException("aborted", "AbortError")]) {
    const { calls, read } = failing(1, error);
    await expect(tryAgain(read, 1)).rejects.toBe(error);
    expect(calls.count).toBe(1);
  }
});
