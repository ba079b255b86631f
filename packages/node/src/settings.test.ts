import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readSettings, settingsPath } from "./settings.ts";

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "settings-"));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

test("a folder without the file, or without the part, settles nothing", async () => {
  expect(await readSettings(dataDir)).toEqual({});
  writeFileSync(settingsPath(dataDir), "{}");
  expect(await readSettings(dataDir)).toEqual({});
});

test("all that can be settled", async () => {
  const node = {
    runtimes: [{ name: "kata", program: "/opt/kata/bin/kata-runtime", args: ["--log=/dev/null"] }],
    defaultRuntime: "kata",
    images: {
      registries: [{ name: "docker.io", mirrors: ["mirror:5000"], insecure: true }],
      limits: { storeBytes: 1 },
    },
    sandboxd: "/opt/sandboxd",
    allow: { privileged: true, hostPaths: ["/srv/shared"] },
    defaults: { memoryBytes: 2 ** 28, pids: 100, diskBytes: 2 ** 30 },
    subnet: "10.9.0.0/20",
    podCapacity: 20,
  };
  writeFileSync(settingsPath(dataDir), JSON.stringify({ node }));
  expect(await readSettings(dataDir)).toEqual(node);
});

test.for([
  ["a misspelt field", { runtimess: [{}] }, "node.runtimess: is not supported"],
  ["a runtime without a sound name", { runtimes: [{ name: "Kata!", program: "kata" }] }, "node.runtimes[0].name"],
  ["a command line of another kind", { runtimes: [{ name: "k", program: "k", kind: "docker" }] }, "kind"],
  ["a relative path", { sandboxd: "bin/sandboxd" }, "node.sandboxd"],
  ["limits that are none", { images: { limits: { storeBytes: "much" } } }, "storeBytes"],
  ["a folder that is none", { allow: { hostPaths: ["/srv/../root"] } }, "node.allow.hostPaths[0]"],
  ["a right that is neither given nor withheld", { allow: { privileged: "yes" } }, "node.allow.privileged"],
  ["limits of nothing", { defaults: { pids: 0 } }, "node.defaults.pids"],
  ["a network that is none", { subnet: "10.9.0.0/99" }, "node.subnet"],
  ["a list", [1], "must be an object"],
] as const)("refuses %s", async ([, node, expected]) => {
  writeFileSync(settingsPath(dataDir), JSON.stringify({ node }));
  await expect(readSettings(dataDir)).rejects.toThrow(expected);
});

test.for([
  ["a part nobody knows", { nodes: { podCapacity: 1 } }, "nodes: is not supported"],
  ["what belongs into the part", { podCapacity: 1 }, "podCapacity: is not supported"],
  ["a list", [], "must be an object"],
] as const)("refuses a file with %s", async ([, whole, expected]) => {
  writeFileSync(settingsPath(dataDir), JSON.stringify(whole));
  await expect(readSettings(dataDir)).rejects.toThrow(`Cannot use "${settingsPath(dataDir)}": ${expected}`);
});

test("a file that is no JSON is named", async () => {
  writeFileSync(settingsPath(dataDir), "{");
  await expect(readSettings(dataDir)).rejects.toThrow(`Cannot read "${settingsPath(dataDir)}"`);
});
