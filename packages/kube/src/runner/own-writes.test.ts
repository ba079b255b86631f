import { describe, expect, test } from "vitest";
import { OwnWrites } from "./own-writes.ts";

const at = (uid: string, resourceVersion: string) => ({ metadata: { uid, resourceVersion } });

describe("OwnWrites", () => {
  test("recognises an own write once, and no other version of the object", () => {
    const own = new OwnWrites();
    own.remember(at("a", "1"));
    expect([own.takes(at("a", "2")), own.takes(at("b", "1")), own.takes(undefined)]).toEqual([false, false, false]);
    expect([own.takes(at("a", "1")), own.takes(at("a", "1"))]).toEqual([true, false]);
  });

  test("forgets the oldest write when more than 10,000 events are missing", () => {
    const own = new OwnWrites();
    for (let version = 0; version <= 10_000; version++) own.remember(at("a", String(version)));
    expect([own.takes(at("a", "0")), own.takes(at("a", "1"))]).toEqual([false, true]);
  });
});
