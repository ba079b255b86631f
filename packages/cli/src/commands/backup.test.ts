import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApiServer } from "@agent-sandbox/apiserver";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { boxPaths } from "../box/box-paths.ts";
import { forgetRunningBox, recordRunningBox } from "../box/running-box.ts";
import { backup } from "./backup.ts";
import { restore } from "./restore.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "backup-command-"));
  vi.spyOn(console, "log").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(root, { recursive: true, force: true });
});

const configMaps = "/api/v1/namespaces/default/configmaps";
const configMap = (name: string): object => ({ metadata: { name } });

async function namesIn(dataDir: string): Promise<string[]> {
  await using server = await createApiServer({ dataDir });
  const { body } = await server.transport.send({ method: "GET", path: configMaps });
  return (body as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name);
}

test("a box is backed up while it runs, and restored once it does not", async () => {
  const dataDir = join(root, "data");
  const file = join(root, "backup");
  const paths = boxPaths(dataDir);
  const server = await createApiServer({ dataDir });
  const listening = await server.listen();
  listening.writeKubeconfig(paths.kubeconfig);
  recordRunningBox(paths, { url: listening.url, routerUrl: "" });
  await server.transport.send({ method: "POST", path: configMaps, body: configMap("early") });
  await backup(file, { dataDir });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await server.transport.send({ method: "POST", path: configMaps, body: configMap("late") });
  await expect(restore(file, { dataDir })).rejects.toThrow(/the box runs .*; stop it with "agent-sandbox down" first/);
  forgetRunningBox(paths);
  await expect(restore(file, { dataDir })).rejects.toThrow(/it is in use by process/);
  await server.close();
  expect(await namesIn(dataDir)).toEqual(["early", "late"]);
  await restore(file, { dataDir });
  expect(await namesIn(dataDir)).toEqual(["early"]);
});

test("a stopped box is backed up and restored elsewhere", async () => {
  const dataDir = join(root, "data");
  const file = join(root, "backup");
  await using server = await createApiServer({ dataDir });
  await server.transport.send({ method: "POST", path: configMaps, body: configMap("kept") });
  await server.close();
  await backup(file, { dataDir });
  const elsewhere = join(root, "elsewhere");
  await restore(file, { dataDir: elsewhere });
  expect(await namesIn(elsewhere)).toEqual(["kept"]);
});

test.for([
  ["no box has run", () => backup(join(root, "backup"), { dataDir: join(root, "nowhere") }), /no server has ever run/],
  ["there is no file", () => restore(join(root, "none"), { dataDir: join(root, "data") }), /no such file/],
  [
    "the file is something else",
    () => {
      writeFileSync(join(root, "letter"), "dear all");
      return restore(join(root, "letter"), { dataDir: join(root, "data") });
    },
    /it is not one, or it is damaged/,
  ],
] as const)("says so in one line when %s", async ([, run, message]) => {
  await expect(run()).rejects.toThrow(message);
  await expect(run()).rejects.toMatchObject({ name: "CommandError" });
});
