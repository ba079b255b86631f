import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Heap, type HeapItem } from "./heap.ts";

interface Item extends HeapItem {
  readonly value: number;
}

const command = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("push" as const), value: fc.integer({ min: 0, max: 50 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("shift" as const), value: fc.constant(0) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("remove" as const), value: fc.nat({ max: 1000 }) }) },
);

describe("Heap", () => {
  test("returns the smallest remaining item for any sequence of calls", () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 200, size: "max" }), (commands) => {
        const heap = new Heap<Item>((a, b) => a.value < b.value);
        let model: Item[] = [];
        const given: unknown[] = [];
        const expected: unknown[] = [];
        for (const { do: call, value } of commands) {
          const chosen = model[value % model.length];
          if (call === "push") {
            const item = { value, position: -1 };
            heap.push(item);
            model.push(item);
          } else if (call === "shift") {
            expected.push(model.length === 0 ? undefined : Math.min(...model.map((item) => item.value)));
            const item = heap.shift();
            given.push(item?.value);
            model = model.filter((other) => other !== item);
          } else if (chosen !== undefined) {
            heap.remove(chosen);
            heap.remove(chosen);
            model = model.filter((other) => other !== chosen);
          }
          given.push(heap.size);
          expected.push(model.length);
        }
        expect(given).toEqual(expected);
      }),
    );
  });
});
