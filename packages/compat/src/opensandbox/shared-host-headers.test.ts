import { expect, test } from "vitest";
import { sharedHostHeaders } from "./shared-host-headers.ts";

const path = "/sandboxes/team/box/80";
const policy = ["content-security-policy", expect.stringMatching(/^sandbox /)];

test.for([
  [[], []],
  [
    ["X-A", "1", "X-A", "2"],
    ["X-A", "1", "X-A", "2"],
  ],
  [["Service-Worker-Allowed", "/", "clear-site-data", "*"], []],
  [
    ["Set-Cookie", "a=b; Path=/; Domain=localhost; HttpOnly"],
    ["Set-Cookie", `a=b; HttpOnly; Path=${path}`],
  ],
  [
    ["set-cookie", "a=b;PATH; domain ;path = /x"],
    ["set-cookie", `a=b; Path=${path}`],
  ],
] as const)("the headers %j", ([given, kept]) => {
  expect(sharedHostHeaders(given, path)).toEqual([...kept, ...policy]);
});
