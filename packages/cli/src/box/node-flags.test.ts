import { resolve } from "node:path";
import { expect, test } from "vitest";
import { settingsOf, wordsOf } from "./node-flags.ts";

test("no flags give no settings", () => {
  expect(settingsOf({})).toEqual({});
  expect(wordsOf({})).toEqual([]);
});

test("flags become settings, and settings become flags", () => {
  const flags = {
    allowPrivileged: true,
    allowHostPath: ["/srv", "/mnt/data"],
    runtime: ["kata=/opt/kata/bin/kata-runtime"],
    defaultRuntime: "kata",
    allowRuntime: ["runc", "crun"],
    stateKeyFile: ["/etc/key", "old-key"],
    stateLimit: ["bytes=20Gi", "snapshotsPerSandbox=3"],
  };
  expect(settingsOf(flags)).toEqual({
    allow: { privileged: true, hostPaths: ["/srv", "/mnt/data"] },
    runtimes: [{ name: "kata", program: "/opt/kata/bin/kata-runtime" }],
    defaultRuntime: "kata",
    allowedRuntimes: ["runc", "crun"],
    stateKeyFiles: ["/etc/key", resolve("old-key")],
    state: { bytes: 20 * 2 ** 30, snapshotsPerSandbox: 3 },
  });
  expect(wordsOf(flags).join(" ")).toBe(
    "--allow-privileged --allow-host-path /srv --allow-host-path /mnt/data --runtime kata=/opt/kata/bin/kata-runtime --default-runtime kata --allow-runtime runc --allow-runtime crun " +
      `--state-key-file /etc/key --state-key-file ${resolve("old-key")} --state-limit bytes=20Gi --state-limit snapshotsPerSandbox=3`,
  );
});

test.for([
  [{ allowHostPath: ["srv"] }, 'Cannot start the box: its options.allow.hostPaths[0]: "srv" is not an absolute path'],
  [{ runtime: ["kata"] }, 'Cannot register runtime "kata": write name=program'],
  [{ runtime: ["=x"] }, 'Cannot register runtime "=x"'],
  [{ runtime: ["Kata!=/bin/kata"] }, "options.runtimes[0].name"],
  [{ stateLimit: ["bytes"] }, 'Cannot set the limit "bytes": write name=quantity'],
  [{ stateLimit: ["bytes=much"] }, 'Cannot set the limit "bytes=much"'],
  [{ stateLimit: ["byte=1Gi"] }, "its options.state"],
  [{ stateLimit: ["__proto__=1"] }, "its options.state"],
  [{ stateLimit: ["snapshots=0"] }, "its options.state.snapshots: 0 is not a whole number above zero"],
  [{ stateLimit: ["saves=1500m"] }, "its options.state.saves"],
  [{ defaultRuntime: "a b" }, "options.defaultRuntime"],
  [{ allowRuntime: ["runc,gvisor"] }, "options.allowedRuntimes[0]"],
] as const)("refuses %j", ([flags, message]) => {
  expect(() => settingsOf(flags)).toThrow(message);
});
