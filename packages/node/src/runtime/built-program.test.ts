import { expect, test } from "vitest";
import { programName } from "./built-program.ts";

test.for([
  ["/usr/sbin/runc", "runc"],
  ["/srv/dist/runc-linux-amd64", "runc"],
  ["/srv/dist/runsc-linux-arm64", "runsc"],
  ["/opt/kata/bin/kata-runtime", "kata-runtime"],
] as const)("%s is %s", ([path, name]) => {
  expect(programName(path)).toBe(name);
});
