import { expect, test } from "vitest";
import { isPlain } from "./completion-names.ts";

test.each(["web", "warm-x2f9k", "web.example.com", "0", "docker.io/library/debian:12"])("%j is completed", (name) => {
  expect(isPlain(name)).toBe(true);
});

test.each(["$(id)", "`id`", "a b", "a;id", "a\nb", "a\tb", "*", "-rf", "~", "a'b", 'a"b', "\u001b[2J", ""])(
  "%j is not completed",
  (name) => {
    expect(isPlain(name)).toBe(false);
  },
);
