import { resolve } from "node:path";
import { makeFolder, readSettings } from "@agent-sandbox/node";
import { readApiSettings } from "../box/api-settings.ts";
import { findLastingBox, type StartedBox, startInBackground } from "../box/background.ts";
import {
  type BoxPaths,
  boxPaths,
  dataDirFrom,
  defaultCompatListen,
  defaultDashboardListen,
  defaultListen,
  defaultRouterListen,
} from "../box/box-paths.ts";
import { checkGroup, checkOrigins, parseListen, readBoxSettings } from "../box/box-settings.ts";
import { checkPorts } from "../box/check-ports.ts";
import { findMachineGroup } from "../box/machine-group.ts";
import { type NodeFlags, settingsOf, wordsOf } from "../box/node-flags.ts";
import type { BoxOptions } from "../box/run-box.ts";
import { programBuild, type RunningBox } from "../box/running-box.ts";
import { explainFailedStart } from "../box/start-failure.ts";
import type { GlobalOptions } from "../client/connect.ts";
import { CommandError } from "../command-error.ts";

export interface UpOptions extends GlobalOptions, NodeFlags {
  readonly foreground?: boolean;
  readonly listen?: string;
  readonly routerListen?: string;
  readonly dashboardListen?: string;
  readonly compatListen?: string;
  readonly auditLog?: string;
  readonly allowOrigin?: readonly string[];
  readonly group?: string;
}

export async function up(options: UpOptions): Promise<void> {
  if (process.getuid?.() !== 0) {
    throw new CommandError("the box needs root to create containers and networks: run the command with sudo");
  }
  const paths = boxPaths(dataDirFrom(options.dataDir, process.env));
  const wanted = await readWanted(options, paths);
  const running = await findLastingBox(paths);
  if (running !== undefined && options.foreground === true) {
    // A service manager must see that the box which runs is not its own.
    throw new CommandError(`the box is already running (process ${running.pid}); stop it with "agent-sandbox down"`);
  }
  if (running !== undefined) {
    console.log(`The box is already running (process ${running.pid}) at ${running.url}`);
    for (const difference of differencesOf(running, { words: wanted.words, build: programBuild() }))
      console.error(difference);
    return;
  }
  try {
    await start(options, paths, wanted);
  } catch (error) {
    throw explainFailedStart(error, { paths, addresses: wanted.addresses }) ?? error;
  }
}

interface Wanted extends BoxOptions {
  /** The arguments of the process in the background. They contain everything that was chosen in `config.json` too. */
  readonly words: readonly string[];
}

/** Combines the flags with `config.json`, and refuses what is invalid before anything is started. */
async function readWanted(options: UpOptions, { dataDir }: BoxPaths): Promise<Wanted> {
  const file = await readBoxSettings(dataDir);
  await readSettings(dataDir);
  await readApiSettings(dataDir);
  const listen = options.listen ?? file.listen ?? defaultListen;
  const routerListen = options.routerListen ?? file.routerListen ?? defaultRouterListen;
  const compatListen = options.compatListen ?? file.compatListen ?? listenBeside(routerListen, defaultCompatListen);
  const dashboardListen =
    options.dashboardListen ?? file.dashboardListen ?? listenBeside(routerListen, defaultDashboardListen);
  const allowedOrigins = checkOrigins(options.allowOrigin ?? file.allowOrigins ?? []);
  const group = options.group ?? file.group;
  // The background process has another working folder.
  const auditLog = options.auditLog === undefined ? undefined : resolve(options.auditLog);
  return {
    addresses: {
      api: parseListen(listen),
      router: parseListen(routerListen),
      dashboard: parseListen(dashboardListen),
      compat: parseListen(compatListen),
    },
    node: settingsOf(options),
    auditLog,
    allowedOrigins,
    group: group === undefined ? undefined : findMachineGroup(checkGroup(group)),
    words: [
      "--data-dir",
      dataDir,
      "up",
      "--foreground",
      "--listen",
      listen,
      "--router-listen",
      routerListen,
      "--dashboard-listen",
      dashboardListen,
      "--compat-listen",
      compatListen,
      ...(auditLog === undefined ? [] : ["--audit-log", auditLog]),
      ...allowedOrigins.flatMap((origin) => ["--allow-origin", origin]),
      ...(group === undefined ? [] : ["--group", group]),
      ...wordsOf(options),
    ],
  };
}

/** Several boxes on one machine differ in the addresses of their API servers and routers. */
function listenBeside(routerListen: string, standard: string): string {
  return routerListen === defaultRouterListen ? standard : `${routerListen.replace(/:\d+$/, "")}:0`;
}

async function start({ foreground }: UpOptions, paths: BoxPaths, { words, ...wanted }: Wanted): Promise<void> {
  // The process in the background was checked by the command that started it.
  if (process.send === undefined) await checkPorts(Object.values(wanted.addresses));
  await makeFolder(paths.dataDir);
  if (foreground === true) {
    const { runBox } = await import("../box/run-box.ts");
    await runBox(paths, wanted);
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
  console.log(`  router      ${box.routerUrl}    (${box.routerUrl}/sandboxes/<namespace>/<sandbox>/<port>/;`);
  console.log(`              in browsers and curl also ${describeHost(box.routerUrl)})`);
  if (box.dashboardUrl !== undefined) {
    console.log(`  dashboard   ${box.dashboardUrl}    (agent-sandbox dashboard opens it)`);
  }
  if (box.compatUrl !== undefined) {
    console.log(`  E2B         ${box.compatUrl}/e2b    (eval "$(agent-sandbox env e2b)" points its clients here)`);
    console.log(`  OpenSandbox ${box.compatUrl}/v1    (eval "$(agent-sandbox env opensandbox)")`);
    console.log(`  MCP         ${box.compatUrl}/mcp    (agent-sandbox mcp config <host> --http prints how to use it)`);
  }
  console.log(`  kubeconfig  ${kubeconfig}    (export KUBECONFIG=${kubeconfig})`);
  console.log(`  log         ${log}`);
  for (const warning of box.warnings) console.error(`Warning: ${warning} (run "agent-sandbox doctor" for details)`);
}

/** Not every program resolves names below localhost; `doctor` checks it. */
function describeHost(routerUrl: string): string {
  return `http://<port>-<sandbox>.<namespace>.localhost:${new URL(routerUrl).port}`;
}
