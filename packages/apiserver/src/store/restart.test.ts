import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { silentLogger } from "../logger.ts";
import { openStore } from "./open-store.ts";
import type { Change, Store } from "./store.ts";

type Step =
  | { readonly do: "put" | "delete"; readonly resource: string; readonly key: string }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "restart" };

const named = { resource: fc.constantFrom("r1", "r2"), key: fc.constantFrom("a/x", "a/y", "b/x") };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("put" as const), ...named }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("delete" as const), ...named }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 400 }) }) },
  { weight: 1, arbitrary: fc.constant({ do: "restart" as const }) },
);

interface Shown {
  readonly revision: number;
  readonly objects: unknown;
}

const show = (store: Store): Shown => ({
  revision: store.revision,
  objects: ["r1", "r2"].map((resource) => [...store.list(resource)]),
});

const changesAfter = (store: Store, resource: string, revision: number): readonly Change[] | undefined => {
  const position = store.position(resource, revision);
  return position === undefined ? undefined : store.read(resource, position, 1000)?.changes;
};

async function write(store: Store, { do: what, resource, key }: Extract<Step, { key: string }>): Promise<void> {
  await store.write((view, revision) => {
    if (what === "delete" && view.get(resource, key) === undefined) return { result: undefined };
    const object = { apiVersion: "v1", kind: "Thing", metadata: { name: key, resourceVersion: String(revision) } };
    return { write: { resource, key, object: what === "put" ? object : undefined }, result: undefined };
  });
}

test("after any writes, compactions and restarts, a store has the same objects and its history leads to them", async () => {
  const folder = mkdtempSync(join(tmpdir(), "apiserver-restart-"));
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
      run += 1;
      const clock = { atMs: 0, now: () => clock.atMs };
      const open = (): Store =>
        openStore(join(folder, String(run)), {
          clock,
          logger: silentLogger,
          history: { maxChanges: 4, maxAgeMs: 1000 },
        });
      let store = open();
      const restarts: { before: Shown; after: Shown }[] = [];
      for (const each of steps) {
        if (each.do === "wait") clock.atMs += each.ms;
        else if (each.do !== "restart") await write(store, each);
        else {
          const before = show(store);
          await store.close();
          store = open();
          restarts.push({ before, after: show(store) });
        }
      }
      expect(restarts.map(({ after }) => after)).toEqual(restarts.map(({ before }) => before));
      for (const resource of ["r1", "r2"]) {
        for (let from = 0; from <= store.revision; from += 1) {
          const earlier = store.listAt(resource, from);
          const changes = changesAfter(store, resource, from);
          expect(earlier === undefined).toBe(changes === undefined);
          const replayed = new Map(earlier?.map((stored) => [stored.object.metadata.name, stored]));
          for (const { key, stored } of changes ?? []) {
            if (stored === undefined) replayed.delete(key);
            else replayed.set(key, stored);
          }
          const current = new Map([...store.list(resource)].map((stored) => [stored.object.metadata.name, stored]));
          expect(earlier === undefined ? current : replayed).toEqual(current);
        }
      }
      await store.close();
    }),
    { numRuns: 30 },
  );
  rmSync(folder, { recursive: true });
});
