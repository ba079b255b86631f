import { resolve } from "node:path";
import { type ListenAddress, originProblem, parseListenAddress } from "@agent-sandbox/api";
import { makeFolder, readSettings } from "@agent-sandbox/node";
import { readApiSettings } from "../box/api-settings.ts";
import { findLastingBox, type StartedBox, startInBackground } from "../box/background.ts";
import { boxPaths, dataDirFrom } from "../box/box-paths.ts";
import { type NodeFlags, settingsOf, wordsOf } from "../box/node-flags.ts";
import { programBuild, type RunningBox } from "../box/running-box.ts";
import type { GlobalOptions } from "../client/connect.ts";
import { CommandError } from "../command-error.ts";

export interface UpOptions extends GlobalOptions, NodeFlags {
  readonly foreground?: boolean;
  readonly listen: string;
  readonly routerListen: string;
  readonly auditLog?: string;
  readonly allowOrigin?: readonly string[];
}

export async function up(options: UpOptions): Promise<void> {
  if (process.getuid?.() !== 0) {
    throw new CommandError("the box needs root to create containers and networks: run the command with sudo");
  }
  const paths = boxPaths(dataDirFrom(options.dataDir, process.env));
  const addresses = { api: parseListen(options.listen), router: parseListen(options.routerListen) };
  const node = settingsOf(options);
  const allowedOrigins = checkOrigins(options.allowOrigin ?? []);
  // The background process has another working folder.
  const auditLog = options.auditLog === undefined ? undefined : resolve(options.auditLog);
  // Report an invalid config.json now, before starting the box.
  await readSettings(paths.dataDir);
  await readApiSettings(paths.dataDir);
  const listen = ["--listen", options.listen, "--router-listen", options.routerListen];
  const audit = auditLog === undefined ? [] : ["--audit-log", auditLog];
  const origins = allowedOrigins.flatMap((origin) => ["--allow-origin", origin]);
  const words = [
    "--data-dir",
    paths.dataDir,
    "up",
    "--foreground",
    ...listen,
    ...audit,
    ...origins,
    ...wordsOf(options),
  ];
  const running = await findLastingBox(paths);
  if (running !== undefined) {
    console.log(`The box is already running (process ${running.pid}) at ${running.url}`);
    for (const difference of differencesOf(running, { words, build: programBuild() })) console.error(difference);
    return;
  }
  await makeFolder(paths.dataDir);
  if (options.foreground === true) {
    const { runBox } = await import("../box/run-box.ts");
    await runBox(paths, { addresses, node, auditLog, allowedOrigins });
    return;
  }
  console.log("Starting the box…");
  const box = await startInBackground(paths, words);
  describe(box, paths.kubeconfig, paths.log);
}

const toChange = 'to change that, run "agent-sandbox down" and "agent-sandbox up"';

/** Describes how the running box differs from the requested one. */
export function differencesOf(
  running: Pick<RunningBox, "words" | "build">,
  wanted: Required<Pick<RunningBox, "words" | "build">>,
): string[] {
  const { words, build = "unknown" } = running;
  const options = words?.slice(words.indexOf("--foreground") + 1);
  const other = words !== undefined && words.join("\0") !== wanted.words.join("\0");
  return [
    ...(other ? [`Warning: the box was started with other options (${options?.join(" ")}); ${toChange}`] : []),
    ...(build === wanted.build ? [] : [`Warning: the box runs another build of this program; ${toChange}`]),
  ];
}

function describe(box: StartedBox, kubeconfig: string, log: string): void {
  console.log(`The box is running (process ${box.pid}).`);
  console.log(`  API         ${box.url}`);
  console.log(`  router      ${box.routerUrl}    (${describeHost(box.routerUrl)})`);
  console.log(`  kubeconfig  ${kubeconfig}    (export KUBECONFIG=${kubeconfig})`);
  console.log(`  log         ${log}`);
  for (const warning of box.warnings) console.error(`Warning: ${warning} (run "agent-sandbox doctor" for details)`);
}

/** The URL of a sandbox in a browser. */
function describeHost(routerUrl: string): string {
  return `http://<sandbox>.<namespace>.localhost:${new URL(routerUrl).port}`;
}

/** The sandboxes of a box are below localhost. */
export function checkOrigins(origins: readonly string[]): readonly string[] {
  for (const origin of origins) {
    const problem = originProblem(origin, ["localhost"]);
    if (problem !== undefined) throw new CommandError(`Cannot allow an origin: ${problem}`);
  }
  return origins;
}

/** The host is required: the box must not serve on every address by accident. */
export function parseListen(text: string): Required<ListenAddress> {
  const { host, port } = parseListenAddress(text) ?? {};
  if (host === undefined || port === undefined) {
    throw new CommandError(`Cannot listen on "${text}": write address:port, as in 127.0.0.1:7643`);
  }
  return { host, port };
}
