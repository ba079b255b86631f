import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { pictureFile, session } from "./first-session.ts";
import { terminalPicture } from "./terminal-picture.ts";

test("a command and each line of its output have their place", () => {
  const picture = terminalPicture("box", [{ command: "a", output: "b\n\nc\n" }]);
  expect(
    [...picture.matchAll(/y="(\d+)" xml:space="preserve"><tspan class="(\w+)">([^<]*)/g)].map((found) =>
      found.slice(1),
    ),
  ).toEqual([
    ["70", "prompt", "$ "],
    ["90", "output", "b"],
    ["130", "output", "c"],
  ]);
});

test("text of an output is no markup", () => {
  const picture = terminalPicture("<b>", [{ command: "a && b", output: '<script>"x"</script>\n' }]);
  expect(picture).toContain("&lt;script&gt;&quot;x&quot;&lt;/script&gt;");
  expect(picture).toContain("a &amp;&amp; b");
  expect(picture).not.toMatch(/<script|<b>/);
});

test("a command without output is one line", () => {
  expect(terminalPicture("box", [{ command: "true", output: "" }]).match(/<text x="20"/g)).toHaveLength(1);
});

test("the picture of the README was made from the present session", () => {
  const picture = readFileSync(pictureFile, "utf8");
  const plain = terminalPicture(
    "",
    session.map((command) => ({ command, output: "" })),
  );
  const commandsOf = (svg: string): string[] =>
    [...svg.matchAll(/class="command">([^<]*)/g)].map(([, text = ""]) => text);
  expect(commandsOf(picture)).toEqual(commandsOf(plain));
});
