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

test("a folder without settings for the node has none", async () => {
  expect(await readSettings(dataDir)).toEqual({});
  writeFileSync(settingsPath(dataDir), "{}");
  expect(await readSettings(dataDir)).toEqual({});
});

test("all settings", async () => {
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
    allocatable: { cpu: "16", memory: "64Gi", "ephemeral-storage": "1Ti" },
  };
  writeFileSync(settingsPath(dataDir), JSON.stringify({ node }));
  expect(await readSettings(dataDir)).toEqual(node);
});

test.for([
  ["a misspelt field", { runtimess: [{}] }, "node.runtimess: is not supported"],
  ["a runtime with an invalid name", { runtimes: [{ name: "Kata!", program: "kata" }] }, "node.runtimes[0].name"],
  ["an unknown kind of runtime", { runtimes: [{ name: "k", program: "k", kind: "docker" }] }, "kind"],
  ["a relative path", { sandboxd: "bin/sandboxd" }, "node.sandboxd"],
  ["an invalid limit", { images: { limits: { storeBytes: "much" } } }, "storeBytes"],
  ["an invalid path", { allow: { hostPaths: ["/srv/../root"] } }, "node.allow.hostPaths[0]"],
  ["a permission that is not a boolean", { allow: { privileged: "yes" } }, "node.allow.privileged"],
  ["a limit of 0", { defaults: { pids: 0 } }, "node.defaults.pids"],
  ["an invalid subnet", { subnet: "10.9.0.0/99" }, "node.subnet"],
  ["an amount that is not a quantity", { allocatable: { cpu: "many" } }, "node.allocatable.cpu"],
  ["an amount of an unknown resource", { allocatable: { gpu: "1" } }, "node.allocatable.gpu"],
  ["a list", [1], "must be an object"],
] as const)("refuses %s", async ([, node, expected]) => {
  writeFileSync(settingsPath(dataDir), JSON.stringify({ node }));
  await expect(readSettings(dataDir)).rejects.toThrow(expected);
});

test.for([
  ["an unknown part", { nodes: { podCapacity: 1 } }, "nodes: is not supported"],
  ["a setting outside of its part", { podCapacity: 1 }, "podCapacity: is not supported"],
  ["a list", [], "must be an object"],
] as const)("refuses a file with %s", async ([, whole, expected]) => {
  writeFileSync(settingsPath(dataDir), JSON.stringify(whole));
  await expect(readSettings(dataDir)).rejects.toThrow(`Cannot use "${settingsPath(dataDir)}": ${expected}`);
});

test("a file that is not valid JSON is named in the error", async () => {
  writeFileSync(settingsPath(dataDir), "{");
  await expect(readSettings(dataDir)).rejects.toThrow(`Cannot read "${settingsPath(dataDir)}"`);
});
