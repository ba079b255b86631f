import { expect, test } from "vitest";
import { Progress } from "./progress.ts";

function written(isTTY: boolean, use: (progress: Progress) => void): string {
  let text = "";
  {
    using progress = new Progress({ isTTY, write: (more) => (text += more) }, 20);
    use(progress);
  }
  return text;
}

const clear = "\r\u001b[2K";

test("replaces its line on a terminal, and removes it at the end", () => {
  const text = written(true, (progress) => {
    progress.show("saving");
    progress.show("saving");
    progress.show("a line that is longer\nthan the terminal");
  });
  expect(text).toBe(`${clear}saving${clear}a line that is long${clear}`);
});

test("prints nothing if it never had a line", () => {
  expect(written(true, () => undefined)).toBe("");
});

test("prints nothing to a file", () => {
  expect(written(false, (progress) => progress.show("saving"))).toBe("");
});
