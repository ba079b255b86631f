import { expect, onTestFinished, test, vi } from "vitest";
import { closingLine, runSuites } from "./run-suites.ts";
import type { Suite } from "./suites.ts";

test("the closing line has the form that CI reads", () => {
  expect(closingLine({ passed: 2, failed: 0, skipped: 0 })).toBe("2 passed, 0 failed");
  expect(closingLine({ passed: 2, failed: 1, skipped: 3 })).toBe("2 passed, 1 failed, 3 skipped");
});

test("what a suite that passed prints is shortened, but not the reasons why tests were skipped", async () => {
  const log = vi.spyOn(console, "log").mockReturnValue();
  onTestFinished(() => log.mockRestore());
  const output = ["skipped: there is no node", "skipped: there is no node", "noise", 1, 2, 3, 4, 5, 6].join("\n");
  await runSuites([{ name: "a", run: async () => ({ passed: 1, failed: 0, skipped: 2, output }) }]);
  const printed = log.mock.calls.map(([text]) => String(text)).join("\n");
  expect(printed.match(/there is no node/g)).toHaveLength(1);
  expect(printed).not.toContain("noise");
});

test("the first suites end before the others start, and failures stop nothing", async () => {
  const log = vi.spyOn(console, "log").mockReturnValue();
  onTestFinished(() => log.mockRestore());
  const order: string[] = [];
  const suite = (name: string, failed = 0): Suite => ({
    name,
    run: async () => {
      order.push(`${name} starts`);
      await new Promise(setImmediate);
      order.push(`${name} ends`);
      return { passed: 1, failed, skipped: 0, output: "" };
    },
  });
  const total = await runSuites([suite("c"), suite("d")], [suite("a", 1), suite("b")]);
  expect(total).toEqual({ passed: 4, failed: 1, skipped: 0 });
  expect(order.slice(0, 4).sort()).toEqual(["a ends", "a starts", "b ends", "b starts"]);
  expect(order.slice(4).sort()).toEqual(["c ends", "c starts", "d ends", "d starts"]);
});
