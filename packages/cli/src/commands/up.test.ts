import { expect, test } from "vitest";
import { checkOrigins, parseListen } from "../box/box-settings.ts";
import { differencesOf } from "./up.ts";

test.for([
  ["127.0.0.1:7643", { host: "127.0.0.1", port: 7643 }],
  ["[::1]:0", { host: "::1", port: 0 }],
  ["localhost:65535", { host: "localhost", port: 65_535 }],
] as const)("reads %s", ([text, expected]) => {
  expect(parseListen(text)).toEqual(expected);
});

test.for(["", "7643", ":7643", "::1:7643", "host:", "host:65536", "host:-1", "a b:1", "[::1]"])(
  "refuses %j",
  (text) => {
    expect(() => parseListen(text)).toThrow(`Cannot listen on "${text}"`);
  },
);

test.for(["*", "null", "https://app.example/", "http://8000-web.default.localhost:7680"])(
  "does not allow the origin %j",
  (origin) => {
    expect(() => checkOrigins(["https://app.example", origin])).toThrow("Cannot allow an origin");
  },
);

const wanted = { words: ["--data-dir", "/d", "up", "--foreground", "--listen", "a:1"], build: "one" };
test.for([
  ["the same", wanted, []],
  ["one in the foreground, whose options nobody knows", { build: "one" }, []],
  [
    "other options",
    { ...wanted, words: [...wanted.words.slice(0, -1), "b:2"] },
    [expect.stringContaining("other options (--listen b:2)")],
  ],
  ["an older build", { ...wanted, build: "two" }, [expect.stringContaining("another build")]],
  ["one from before builds were told apart", { words: wanted.words }, [expect.stringContaining("another build")]],
] as const)("a box that runs is compared with what is wanted: %s", ([, running, expected]) => {
  expect(differencesOf(running, wanted)).toEqual(expected);
});
