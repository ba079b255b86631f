import { expect, test } from "vitest";
import { parsePorts } from "./port-forward.ts";

test.for([
  ["8080:80", { local: 8080, remote: 80 }],
  ["80", { local: 80, remote: 80 }],
  [":80", { local: 0, remote: 80 }],
] as const)("reads %s", ([text, expected]) => {
  expect(parsePorts(text)).toEqual(expected);
});

test.for(["", "a:80", "80:", "0", "1:0", "70000", "70000:80", "-1:80", "1:2:3"])("refuses %j", (text) => {
  expect(() => parsePorts(text)).toThrow(`Cannot read ports "${text}"`);
});
