import { once } from "node:events";
import { rmSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import { resolve } from "node:path";
import { backUpFolder, saveBackup } from "@agent-sandbox/apiserver";
import { type BoxPaths, boxPaths, dataDirFrom } from "../box/box-paths.ts";
import { findRunningBox } from "../box/running-box.ts";
import { connect, type GlobalOptions } from "../client/connect.ts";
import { refusalOf, requestOptions } from "../client/raw-request.ts";
import { undoOnSignal } from "../client/undo-on-signal.ts";
import { CommandError } from "../command-error.ts";
import { reasonOf } from "../report-failure.ts";

/** Saves all objects and the keys of the box's API server to one file. The box can be running or stopped. */
export async function backup(file: string, options: GlobalOptions): Promise<void> {
  const paths = boxPaths(dataDirFrom(options.dataDir, process.env));
  const target = resolve(file);
  // The name that `saveBackup` and `backUpFolder` write to first.
  using _undo = undoOnSignal(() => rmSync(`${target}.partial`, { force: true }));
  try {
    if (findRunningBox(paths) === undefined) await backUpFolder(paths.dataDir, target);
    else await backUpRunning(paths, target);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(reasonOf(error), { cause: error });
  }
  console.log(`Saved ${paths.dataDir} to ${target}. The file contains keys and Secrets: protect it like a private key`);
}

async function backUpRunning(paths: BoxPaths, target: string): Promise<void> {
  await using connection = await connect({ dataDir: paths.dataDir });
  const { url, ...request } = await requestOptions(connection.access, "/agent-sandbox/backup");
  const [response] = (await once(get(url, request), "response")) as [IncomingMessage];
  if (response.statusCode !== 200) throw new CommandError(`Cannot back up: ${await refusalOf(response)}`);
  await saveBackup(response, target);
}
