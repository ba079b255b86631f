import { describe, expect, test } from "vitest";
import { History } from "./history.ts";
import type { Change, Stored } from "./store.ts";

const change = (revision: number, atMs = 0): Change => ({
  revision,
  atMs,
  key: `k${revision}`,
  stored: undefined,
  previous: undefined,
});
const bounds = { maxChanges: 4, maxAgeMs: 1000 };

describe("History", () => {
  test("finds the position after a revision, whether that revision is in the history or not", () => {
    const history = new History(0);
    for (const revision of [2, 4, 6]) history.append(change(revision));
    expect([0, 1, 2, 3, 4, 5, 6, 9].map((revision) => history.position(revision))).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
  });

  test("keeps positions valid while it drops changes, and reports a position that was dropped", () => {
    const history = new History(0);
    for (let revision = 1; revision <= 6; revision += 1) history.append(change(revision));
    const position = history.position(3) as number;
    expect(history.overfull(bounds)).toBe(true);
    expect(history.trim(bounds, 0).map(({ revision }) => revision)).toEqual([1, 2]);
    expect(history.floor).toBe(2);
    expect(history.position(1)).toBeUndefined();
    expect(history.position(2)).toBe(2);
    expect(history.read(position, 2)).toEqual({ changes: [change(4), change(5)], next: position + 2 });
    expect(history.read(1, 2)).toBeUndefined();
  });

  test("drops changes by their total size", () => {
    const history = new History(0);
    const stored = { json: "x".repeat(40) } as Stored;
    const large = (revision: number): Change => ({ ...change(revision), stored });
    const byLength = { ...bounds, maxLength: 100 };
    for (const revision of [1, 2]) history.append(large(revision));
    expect(history.overfull(byLength)).toBe(false);
    history.append(large(3));
    expect(history.overfull(byLength)).toBe(true);
    expect(history.trim(byLength, 0).map(({ revision }) => revision)).toEqual([1]);
    expect(history.overfull(byLength)).toBe(false);
    expect(history.trim(byLength, 0)).toEqual([]);
    expect(history.after(1)?.map(({ revision }) => revision)).toEqual([2, 3]);
  });

  test("drops changes by their age", () => {
    const history = new History(0);
    for (const [revision, atMs] of [
      [1, 0],
      [2, 500],
      [3, 1500],
    ] as const)
      history.append(change(revision, atMs));
    expect(history.trim(bounds, 1501).map(({ revision }) => revision)).toEqual([1, 2]);
    expect(history.after(2)).toEqual([change(3, 1500)]);
    expect(history.after(1)).toBeUndefined();
  });
});
