import { expect, test, vi } from "vitest";
import { createProgram } from "../program.ts";
import { complete, completion } from "./completion.ts";

function printedBy(act: () => void): string {
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  try {
    act();
    return log.mock.calls.flat().join("\n");
  } finally {
    log.mockRestore();
  }
}

test.each(["bash", "zsh", "fish"])("the script for %s asks the program", (shell) => {
  expect(printedBy(() => completion(shell))).toContain(" __complete -- ");
});

test.each(["tcsh", "toString", ""])("there is no script for %j", (shell) => {
  expect(() => completion(shell)).toThrow("write bash, zsh, fish");
});

test("a candidate is printed with its description", async () => {
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  await complete(["snapshot", "l"], createProgram());
  const printed = log.mock.calls.flat();
  log.mockRestore();
  expect(printed).toEqual(["ls\tList snapshots, the oldest first"]);
});
