import { describe, expect, test } from "vitest";
import { OwnWrites } from "./own-writes.ts";

const at = (uid: string, resourceVersion: string) => ({ metadata: { uid, resourceVersion } });

describe("OwnWrites", () => {
  test("knows an own write once, and nobody else's", () => {
    const own = new OwnWrites();
    own.remember(at("a", "1"));
    expect([own.takes(at("a", "2")), own.takes(at("b", "1")), own.takes(undefined)]).toEqual([false, false, false]);
    expect([own.takes(at("a", "1")), own.takes(at("a", "1"))]).toEqual([true, false]);
  });

  test("forgets the oldest when answers whose events never came pile up", () => {
    const own = new OwnWrites();
    for (let version = 0; version <= 10_000; version++) own.remember(at("a", String(version)));
    expect([own.takes(at("a", "0")), own.takes(at("a", "1"))]).toEqual([false, true]);
  });
});
