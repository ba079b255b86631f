import { expect, test } from "vitest";
import { quoteWord, serviceUnit } from "./service-unit.ts";

test("the unit runs the box in the foreground, and ends no sandbox", () => {
  const unit = serviceUnit("/opt/agent sandbox/agent-sandbox", "/srv/box");
  expect(unit).toContain('ExecStart="/opt/agent sandbox/agent-sandbox" --data-dir /srv/box up --foreground\n');
  expect(unit).toContain("KillMode=process\n");
});

test.for([
  ["/srv/box", "/srv/box"],
  ["/srv/100%", "/srv/100%%"],
  ["/srv/$HOME", "/srv/$$HOME"],
  ['/srv/a "b"', '"/srv/a \\"b\\""'],
  ["/srv/a\\b", '"/srv/a\\\\b"'],
] as const)("writes %s as a word of a unit", ([word, expected]) => {
  expect(quoteWord(word)).toBe(expected);
});
