import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
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

test("a box is backed up and restored while it runs, and started again as it was", async () => {
  const dataDir = join(root, "data");
  const file = join(root, "backup");
  const paths = boxPaths(dataDir);
  const server = await createApiServer({ dataDir });
  const listening = await server.listen();
  listening.writeKubeconfig(paths.kubeconfig);
  const record = { url: listening.url, routerUrl: "" };
  recordRunningBox(paths, record);
  await server.transport.send({ method: "POST", path: configMaps, body: configMap("early") });
  await backup(file, { dataDir });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await server.transport.send({ method: "POST", path: configMaps, body: configMap("late") });
  await expect(restore(file, { dataDir })).rejects.toThrow(/the box is running in the foreground .*; stop it first/);
  forgetRunningBox(paths);
  await expect(restore(file, { dataDir })).rejects.toThrow(/it is in use by process/);

  const started: unknown[] = [];
  const box = {
    stop: async () => {
      forgetRunningBox(paths);
      await server.close();
    },
    start: async (_paths: unknown, words: readonly string[]) => started.push([words, await namesIn(dataDir)]),
  };
  const words = ["up", "--foreground", "--listen", "127.0.0.1:1"];
  recordRunningBox(paths, { ...record, words });
  await restore(file, { dataDir }, box);
  expect(started).toEqual([[words, ["early"]]]);
});

test("a running box continues unchanged if the file is not a backup", async () => {
  const dataDir = join(root, "data");
  const file = join(root, "torn");
  writeFileSync(file, "not a backup");
  await (await createApiServer({ dataDir })).close();
  recordRunningBox(boxPaths(dataDir), { url: "", routerUrl: "", words: ["up"] });
  const seen: string[] = [];
  const box = { stop: async () => void seen.push("stop"), start: async () => void seen.push("start") };
  await expect(restore(file, { dataDir }, box)).rejects.toThrow(/it is not one, or it is damaged/);
  expect(seen).toEqual(["stop", "start"]);
});

test("a missing file stops no box and creates no folder", async () => {
  const dataDir = join(root, "data");
  await expect(restore(join(root, "none"), { dataDir })).rejects.toThrow(
    `Cannot read backup "${join(root, "none")}": no such file or directory`,
  );
  expect(existsSync(dataDir)).toBe(false);
  await (await createApiServer({ dataDir })).close();
  recordRunningBox(boxPaths(dataDir), { url: "", routerUrl: "", words: ["up"] });
  const untouched = () => Promise.reject(new Error("the box was touched"));
  await expect(restore(join(root, "none"), { dataDir }, { stop: untouched, start: untouched })).rejects.toThrow(
    /no such file/,
  );
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

test("a signal before anything is replaced starts the box again, unchanged", async () => {
  const dataDir = join(root, "data");
  const file = join(root, "backup");
  const server = await createApiServer({ dataDir });
  await server.transport.send({ method: "POST", path: configMaps, body: configMap("kept") });
  await server.close();
  await backup(file, { dataDir });
  recordRunningBox(boxPaths(dataDir), { url: "", routerUrl: "", words: ["up"] });
  const seen: string[] = [];
  const interrupt = async (): Promise<void> => {
    forgetRunningBox(boxPaths(dataDir));
    seen.push("stop");
    process.emit("SIGINT", "SIGINT");
  };
  const start = async (): Promise<void> => void seen.push("start");
  await expect(restore(file, { dataDir }, { stop: interrupt, start })).rejects.toMatchObject({
    message: "ended by SIGINT",
    exitCode: 130,
  });
  expect(seen).toEqual(["stop", "start"]);
  expect(await namesIn(dataDir)).toEqual(["kept"]);
});
