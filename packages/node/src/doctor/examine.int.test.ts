import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { settingsPath } from "../settings.ts";
import { mountsUnder } from "../system/mounts.ts";
import { examineMachine, type Finding } from "./examine.ts";
import { whyNoMapping } from "./examine-owners.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "doctor-int-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const stateOf = (findings: readonly Finding[], name: string): string | undefined =>
  findings.find((finding) => finding.name === name)?.state;

test("a machine that runs these tests has everything that is needed, and nothing is left on it", async () => {
  const dataDir = join(folder, "data");
  const findings = await examineMachine(dataDir);
  expect(findings.filter(({ state }) => state === "missing")).toEqual([]);
  expect(["runtime runc", "conmon", "nft", "skopeo", "overlayfs"].map((name) => stateOf(findings, name))).toEqual(
    Array.from({ length: 5 }, () => "ok"),
  );
  const depthOf = (runtime: string): string | undefined =>
    findings.find(({ name }) => name === `runtime ${runtime}`)?.detail.match(/suspends with depth (\w+)/)?.[1];
  expect([depthOf("gvisor"), depthOf("runc")]).toEqual(["Memory", "Filesystem"]);
  const chosen = findings.filter(({ detail }) => detail.startsWith("the default;"));
  expect(chosen).toHaveLength(1);
  expect(stateOf(findings, "isolation")).toBe(chosen[0]?.name === "runtime runc" ? "lacking" : "ok");
  expect(stateOf(findings, "volume claim sizes")).toMatch(/ok|lacking/);
  expect(stateOf(findings, "private files")).toMatch(/ok|lacking/);
  expect(existsSync(dataDir)).toBe(false);
  expect(await mountsUnder(folder)).toEqual([]);
});

test("a registered runtime that does not work is reported with the reason, and existing files stay", async () => {
  const dataDir = join(folder, "data");
  await mkdir(dataDir);
  const runtimes = [
    { name: "absent", program: "/no/such/runtime" },
    { name: "broken", program: "/bin/false" },
  ];
  await writeFile(settingsPath(dataDir), JSON.stringify({ node: { runtimes } }));
  const findings = await examineMachine(dataDir);
  expect(findings.filter(({ name }) => /absent|broken/.test(name))).toMatchObject([
    { name: "runtime absent", state: "lacking", detail: expect.stringContaining("/no/such/runtime") },
    { name: "runtime broken", state: "lacking", detail: "the test container exited with status 1 instead of 42" },
  ]);
  expect(await readdir(dataDir)).toEqual(["config.json"]);
});

test("a runtime that the flags of the running box allow is reported as allowed", async () => {
  const dataDir = join(folder, "data");
  const detailOf = (findings: readonly Finding[]): string | undefined =>
    findings.find(({ name }) => name === "runtime runc")?.detail;
  expect(detailOf(await examineMachine(dataDir))).toMatch(/^allowed only in Namespaces that list it;/);
  expect(detailOf(await examineMachine(dataDir, { allowedRuntimes: ["runc"] }))).toMatch(/^allowed;/);
  expect(detailOf(await examineMachine(dataDir, { defaultRuntime: "runc" }))).toMatch(/^the default;/);
});

test("invalid settings are reported as missing", async () => {
  await writeFile(settingsPath(folder), "{");
  const findings = await examineMachine(folder);
  expect(findings.find(({ name }) => name === "settings")).toMatchObject({
    state: "missing",
    detail: expect.stringContaining("config.json"),
    remedy: "correct or remove the file",
  });
});

test("a data folder that cannot be created is reported as missing", async () => {
  const findings = await examineMachine("/proc/none");
  expect(findings.find(({ name }) => name === "data folder")).toMatchObject({
    state: "missing",
    detail: expect.stringContaining('Cannot make folder "/proc/none'),
    remedy: expect.stringContaining("--data-dir"),
  });
});

test("a filesystem without idmapped mounts is reported", async () => {
  expect(await whyNoMapping("/proc", folder)).toContain('Cannot map the owners of "/proc"');
  expect(await mountsUnder(folder)).toEqual([]);
});
