import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { boxFields } from "../box/box-settings.ts";
import type { Config } from "../box/config-edit.ts";
import { printConfigPath, setConfig, settingsOf, unsetConfig, viewConfig } from "./config.ts";

let dataDir: string;
let said: string[];
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "config-"));
  said = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => void said.push(line));
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(dataDir, { recursive: true });
});

const path = (): string => join(dataDir, "config.json");
const content = (): unknown => JSON.parse(readFileSync(path(), "utf8"));

test("sets, shows and removes settings", async () => {
  await setConfig("box.listen", "127.0.0.1:7000", { dataDir });
  await setConfig("node.defaults.pids", "100", { dataDir });
  await setConfig("node.allow.hostPaths", '["/srv"]', { dataDir });
  expect(content()).toEqual({
    box: { listen: "127.0.0.1:7000" },
    node: { defaults: { pids: 100 }, allow: { hostPaths: ["/srv"] } },
  });
  expect(statSync(path()).mode & 0o777).toBe(0o600);
  said = [];
  await viewConfig({ dataDir });
  expect(said[0]?.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
    ["SETTING", "VALUE", "FROM"],
    ["box.listen", "127.0.0.1:7000", "config.json"],
    ["box.routerListen", "127.0.0.1:7680", "default"],
    ["box.dashboardListen", "127.0.0.1:7681", "default"],
    ["box.compatListen", "127.0.0.1:7682", "default"],
    ["box.allowOrigins", "[]", "default"],
    ["box.group", "<none>", "default"],
    ["node.defaults.pids", "100", "config.json"],
    ["node.allow.hostPaths", '["/srv"]', "config.json"],
  ]);
  for (const key of ["box.listen", "node.defaults.pids", "node.allow"]) await unsetConfig(key, { dataDir });
  expect(content()).toEqual({});
  expect(readdirSync(dataDir)).toEqual(["config.json"]);
});

test.for([
  ["box.listen", "nowhere", "nowhere"],
  ["box.colour", "red", "box.colour is unknown"],
  ["node.defaults.pids", "many", "defaults.pids"],
  ["node.defaults.pids", "0", "defaults.pids"],
  ["node.pids", "1", "is not supported"],
  ["apiServer.limits.objects", "-1", "positive integer"],
  ["nodes.defaults", "1", "nodes is unknown"],
  ["listen", "127.0.0.1:1", 'Cannot read setting "listen"'],
  ["node.__proto__.polluted", "1", "Cannot read setting"],
  ["node.constructor.prototype", "1", "is not supported"],
  ["node..x", "1", "Cannot read setting"],
] as const)("refuses %s %s and writes nothing", async ([key, value, expected]) => {
  await expect(setConfig(key, value, { dataDir })).rejects.toThrow(expected);
  expect(existsSync(path())).toBe(false);
});

test("a damaged file is not overwritten", async () => {
  writeFileSync(path(), "{");
  await expect(setConfig("box.listen", "127.0.0.1:1", { dataDir })).rejects.toThrow(`Cannot read "${path()}"`);
  await expect(viewConfig({ dataDir })).rejects.toThrow(`Cannot read "${path()}"`);
  expect(readFileSync(path(), "utf8")).toBe("{");
});

test("a setting that is not there cannot be removed", async () => {
  await expect(unsetConfig("box.listen", { dataDir })).rejects.toThrow("box.listen is not set");
});

test("options of the running box are marked", () => {
  const listen = ["--listen", "127.0.0.1:1", "--router-listen", "127.0.0.1:2", "--dashboard-listen", "127.0.0.1:3"];
  const origins = ["--allow-origin", "https://a.example", "--allow-origin", "https://b.example"];
  const words = ["--data-dir", "/x", "up", "--foreground", ...listen, ...origins, "--group", "sandbox"];
  const node = { allow: { privileged: true } };
  expect(settingsOf({ box: { routerListen: "127.0.0.1:2" } }, { words, node })).toEqual([
    { key: "box.listen", value: "127.0.0.1:1", from: "option of up" },
    { key: "box.routerListen", value: "127.0.0.1:2", from: "config.json" },
    { key: "box.dashboardListen", value: "127.0.0.1:3", from: "option of up" },
    { key: "box.compatListen", value: "127.0.0.1:7682", from: "default" },
    { key: "box.allowOrigins", value: ["https://a.example", "https://b.example"], from: "option of up" },
    { key: "box.group", value: "sandbox", from: "option of up" },
    { key: "node.allow.privileged", value: true, from: "option of up" },
  ]);
});

test("prints the path", () => {
  printConfigPath({ dataDir });
  expect(said).toEqual([path()]);
});

test("lists each setting of the box, also if the file does not have it", () => {
  const of = (config: Config): readonly string[] => settingsOf(config, undefined).map(({ key }) => key);
  const all = boxFields.map((name) => `box.${name}`);
  expect(of({}).toSorted()).toEqual(all.toSorted());
  // A list of the file is one setting.
  expect(of({ box: { allowOrigins: ["https://a.example", "https://b.example"] } }).toSorted()).toEqual(all.toSorted());
});
