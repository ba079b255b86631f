import { expect, test } from "vitest";
import type { OciRuntime } from "./oci-runtime.ts";
import { sharedKernel } from "./shared-kernel.ts";

const at = (program: string): OciRuntime => ({ program }) as OciRuntime;
const none = new Map<string, string>();
const both = new Map([
  ["gvisor", at("/usr/bin/runsc")],
  ["runc", at("/usr/sbin/runc")],
]);

test.for([
  ["nothing where gVisor is the default", { present: both, absent: none, flawed: none, default: "gvisor" }, []],
  [
    "nothing about an unknown runtime",
    { present: new Map([["kata", at("/opt/kata-runtime")]]), absent: none, flawed: none, default: "kata" },
    [],
  ],
  [
    "that gVisor is absent, and why",
    {
      present: new Map([["runc", at("/usr/sbin/runc")]]),
      absent: new Map([["gvisor", "not found"]]),
      flawed: none,
      default: "runc",
    },
    ["GVisorAbsent", /gVisor does not work on this machine: not found$/],
  ],
  [
    "what is wrong with gVisor",
    { present: both, absent: none, flawed: new Map([["gvisor", "it is old"]]), default: "runc" },
    ["GVisorFlawed", /: gVisor is installed, but it is old$/],
  ],
  [
    "that the operator chose another default",
    { present: both, absent: none, flawed: none, default: "runc" },
    ["GVisorNotDefault", /not the default$/],
  ],
] as const)("says %s", ([, runtimes, [reason, message = /^$/]]) => {
  const risk = sharedKernel(runtimes);
  expect(risk?.reason).toBe(reason);
  expect(risk?.message ?? "").toMatch(message);
});
