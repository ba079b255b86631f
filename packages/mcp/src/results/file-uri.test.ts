import { expect, test } from "vitest";
import { fileUri } from "./file-uri.ts";

const sandbox = { namespace: "team-a", name: "box" };

test.for([
  ["/tmp/a.txt", "sandbox://team-a/box/files/tmp/a.txt"],
  ["tmp//./a.txt", "sandbox://team-a/box/files/tmp/a.txt"],
  ["/a b/é?#%.txt", "sandbox://team-a/box/files/a%20b/%C3%A9%3F%23%25.txt"],
] as const)("the address of %s", ([path, uri]) => {
  expect(fileUri(sandbox, path)).toBe(uri);
});
