import { expect, test } from "vitest";
import { parseMountPoints } from "./mounts.ts";

test("parses mount points with spaces, tabs and backslashes", () => {
  const lines = [
    "24 1 254:0 / / rw,relatime - ext4 /dev/vda rw",
    "36 24 0:30 / /data/with\\040space/a\\011b\\134c rw - overlay x rw",
    "",
  ];
  expect(parseMountPoints(lines.join("\n"))).toEqual(["/", "/data/with space/a\tb\\c"]);
});
