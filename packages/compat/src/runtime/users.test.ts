import { expect, test } from "vitest";
import { parsePasswd } from "./users.ts";

test.for([
  ["user:x:1000:1000::/home/user:/bin/sh", [{ name: "user", uid: 1000, home: "/home/user" }]],
  // A relative home would be looked for in the working directory of the box.
  ["user:x:1000:1000::../secret:/bin/sh", [{ name: "user", uid: 1000, home: "/" }]],
  ["user:x:1000:1000:::", [{ name: "user", uid: 1000, home: "/" }]],
  [`${"u".repeat(257)}:x:1:1::/:`, []],
  ["user:x:-1:0::/:\n::\nuser:x:1e9:0::/:", []],
] as const)("the users of %j", ([text, users]) => expect(parsePasswd(text)).toEqual(users));
