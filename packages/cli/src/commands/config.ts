import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { makeFolder, readSettings, settingsPath } from "@agent-sandbox/node";
import { readApiSettings } from "../box/api-settings.ts";
import {
  type BoxPaths,
  boxPaths,
  dataDirFrom,
  defaultCompatListen,
  defaultDashboardListen,
  defaultListen,
  defaultRouterListen,
} from "../box/box-paths.ts";
import { readBoxSettings } from "../box/box-settings.ts";
import { type Config, checkConfig, flatten, parseKey, parseValue, withSetting } from "../box/config-edit.ts";
import { isObject } from "../box/config-file.ts";
import { findRunningBox, type RunningBox } from "../box/running-box.ts";
import type { GlobalOptions } from "../client/connect.ts";
import { formatTable } from "../client/table.ts";
import { CommandError } from "../command-error.ts";

const pathsOf = (options: GlobalOptions): BoxPaths => boxPaths(dataDirFrom(options.dataDir, process.env));

/** Prints the settings of the box itself, the others that are not at their defaults, and where each comes from. */
export async function viewConfig(options: GlobalOptions): Promise<void> {
  const paths = pathsOf(options);
  const config = readConfig(paths);
  // Reports what `up` would refuse.
  await readSettings(paths.dataDir);
  await readApiSettings(paths.dataDir);
  await readBoxSettings(paths.dataDir);
  const columns = ["Setting", "Value", "From"].map((name) => ({ name }));
  const rows = settingsOf(config, findRunningBox(paths)).map(({ key, value, from }) => ({
    cells: [key, typeof value === "string" ? value : JSON.stringify(value), from],
  }));
  console.log(formatTable({ columnDefinitions: columns, rows }));
  console.error(`All other settings have their defaults. The file is ${settingsPath(paths.dataDir)}`);
}

export interface ShownSetting {
  readonly key: string;
  readonly value: unknown;
  readonly from: string;
}

/** Each setting of the box itself, with the option of `up` that sets it too. */
const boxSettings: readonly { readonly key: string; readonly flag: string; readonly otherwise?: unknown }[] = [
  { key: "box.listen", flag: "--listen", otherwise: defaultListen },
  { key: "box.routerListen", flag: "--router-listen", otherwise: defaultRouterListen },
  { key: "box.dashboardListen", flag: "--dashboard-listen", otherwise: defaultDashboardListen },
  { key: "box.compatListen", flag: "--compat-listen", otherwise: defaultCompatListen },
  { key: "box.allowOrigins", flag: "--allow-origin", otherwise: [] },
  { key: "box.group", flag: "--group" },
];
const file = "config.json";
const flags = "option of up";

/** The settings of the file and of the running box. The record of the box has what its flags and the file said when it started. */
export function settingsOf(
  config: Config,
  running: Pick<RunningBox, "words" | "node"> | undefined,
): readonly ShownSetting[] {
  const inFile = flatten(config).map((setting): ShownSetting => ({ ...setting, from: file }));
  const { words = [], node = {} } = running ?? {};
  const own = boxSettings.map(({ key, flag, otherwise }): ShownSetting => {
    const used = words.flatMap((word, index) => (word === flag ? [words[index + 1] ?? ""] : []));
    const value = Array.isArray(otherwise) ? used : used[0];
    const written = inFile.find((setting) => setting.key === key)?.value;
    if (used.length > 0 && !isDeepStrictEqual(value, written ?? otherwise)) return { key, value, from: flags };
    return written === undefined ? { key, value: otherwise, from: "default" } : { key, value: written, from: file };
  });
  const others = inFile.filter(({ key }) => !boxSettings.some((one) => one.key === key));
  const given = flatten(node as Config, "node.").map((setting): ShownSetting => ({ ...setting, from: flags }));
  return [...own, ...others, ...given];
}

/** Changes one setting in the file. Nothing is written if `up` would refuse it. */
export async function setConfig(key: string, text: string, options: GlobalOptions): Promise<void> {
  await changeConfig(key, parseValue(text), options);
}

export async function unsetConfig(key: string, options: GlobalOptions): Promise<void> {
  await changeConfig(key, undefined, options);
}

async function changeConfig(key: string, value: unknown, options: GlobalOptions): Promise<void> {
  const paths = pathsOf(options);
  const before = readConfig(paths);
  const after = withSetting(before, parseKey(key), value);
  if (value === undefined && JSON.stringify(before) === JSON.stringify(after)) {
    throw new CommandError(`${key} is not set in ${settingsPath(paths.dataDir)}`);
  }
  checkConfig(after);
  await makeFolder(paths.dataDir);
  const path = settingsPath(paths.dataDir);
  const temporary = `${path}.${process.pid}`;
  try {
    writeFileSync(temporary, `${JSON.stringify(after, undefined, 2)}\n`, { mode: 0o600 });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  console.log(`${key} ${value === undefined ? "removed from" : "set in"} ${path}`);
  if (findRunningBox(paths) !== undefined && !key.startsWith("node.images.registries")) {
    console.error('The running box keeps its settings: run "agent-sandbox down" and "agent-sandbox up" to apply it');
  }
}

export function printConfigPath(options: GlobalOptions): void {
  console.log(settingsPath(pathsOf(options).dataDir));
}

function readConfig({ dataDir }: BoxPaths): Config {
  const path = settingsPath(dataDir);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return {};
  }
  try {
    const whole: unknown = JSON.parse(text);
    if (isObject(whole)) return whole;
  } catch (error) {
    throw new CommandError(`Cannot read "${path}": ${(error as Error).message}`, { cause: error });
  }
  throw new CommandError(`Cannot read "${path}": it must be an object`);
}
