import { describe, expect, test } from "vitest";
import { FairLimiter } from "./fair-limiter.ts";

/** Functions that end on request, and the list of those that have started. */
function works(gate: FairLimiter) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (key: string, name: string, signal?: AbortSignal): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.set(name, resolve);
    return gate.run(
      key,
      () => {
        begun.push(name);
        return promise;
      },
      signal,
    );
  };
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { begun, start, end };
}

describe("FairLimiter", () => {
  test("a key with a thousand waiting functions leaves a slot for another", async () => {
    const { begun, start } = works(new FairLimiter({ total: 3, perKey: 2 }));
    for (let index = 0; index < 1000; index++) void start("a", `a${index}`);
    void start("b", "b0");
    expect(begun).toEqual(["a0", "a1", "b0"]);
  });

  test("keys take turns when all slots are taken", async () => {
    const { begun, start, end } = works(new FairLimiter({ total: 2, perKey: 2 }));
    for (const name of ["a0", "a1", "a2", "a3"]) void start("a", name);
    for (const name of ["b0", "b1"]) void start("b", name);
    void start("c", "c0");
    for (const name of ["a0", "a1", "a2", "b0", "c0", "a3", "b1"]) await end(name);
    expect(begun).toEqual(["a0", "a1", "a2", "b0", "c0", "a3", "b1"]);
  });

  test("failed functions and aborted waits release their slots", async () => {
    const gate = new FairLimiter({ total: 2, perKey: 1 });
    await expect(gate.run("a", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    const { begun, start, end } = works(gate);
    const stop = new AbortController();
    void start("a", "a0");
    const waiting = start("a", "a1", stop.signal);
    void start("a", "a2");
    stop.abort(new Error("given up"));
    await expect(waiting).rejects.toThrow("given up");
    await end("a0");
    expect(begun).toEqual(["a0", "a2"]);
    await expect(gate.run("b", () => Promise.resolve(1), AbortSignal.abort(new Error("late")))).rejects.toThrow("late");
  });
});
