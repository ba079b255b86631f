import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { boxPaths, dataDirFrom } from "../box/box-paths.ts";
import { findRunningBox } from "../box/running-box.ts";
import { serviceUnit, unitPath } from "../box/service-unit.ts";
import type { GlobalOptions } from "../client/connect.ts";
import { CommandError } from "../command-error.ts";

/** Prints the systemd unit, for machines that are set up by other tools. */
export function printService(options: GlobalOptions): void {
  process.stdout.write(unitOf(options));
}

/** Installs the systemd unit, starts the box with it now and after every boot. */
export function installService(options: GlobalOptions): void {
  mustManageServices("install");
  const paths = boxPaths(dataDirFrom(options.dataDir, process.env));
  const running = findRunningBox(paths);
  if (running !== undefined && !isActive()) {
    throw new CommandError(
      `Cannot install the service: the box is running (process ${running.pid}); stop it first with "agent-sandbox down" (sandboxes keep running)`,
    );
  }
  const unit = unitOf(options);
  const before = existsSync(unitPath) ? readFileSync(unitPath, "utf8") : undefined;
  writeUnit(unit);
  try {
    systemctl("daemon-reload");
    systemctl("enable", "--now", service);
  } catch (error) {
    undoInstall(before);
    throw error;
  }
  console.log(`Installed ${unitPath}. The box starts now and after every boot.`);
  console.log(`  status  systemctl status ${service}`);
  console.log(`  log     journalctl --unit ${service}`);
}

/** What fails here is not reported: the error that led to it is. */
function undoInstall(before: string | undefined): void {
  if (before === undefined) {
    spawnSync("systemctl", ["disable", "--now", service]);
    rmSync(unitPath);
  } else writeUnit(before);
  spawnSync("systemctl", ["daemon-reload"]);
}

function writeUnit(text: string): void {
  const temporary = `${unitPath}.new`;
  writeFileSync(temporary, text, { mode: 0o644 });
  renameSync(temporary, unitPath);
}

/** Stops the box and removes the unit. Sandboxes keep running; `down --purge` removes them. */
export function uninstallService(): void {
  mustManageServices("uninstall");
  if (!existsSync(unitPath))
    throw new CommandError(`Cannot uninstall the service: it is not installed (${unitPath} does not exist)`);
  systemctl("disable", "--now", service);
  rmSync(unitPath);
  systemctl("daemon-reload");
  console.log(`Removed ${unitPath}; the sandboxes keep running`);
}

const service = "agent-sandbox";

function unitOf({ dataDir }: GlobalOptions): string {
  return serviceUnit(launcher(process.argv[1] ?? ""), boxPaths(dataDirFrom(dataDir, process.env)).dataDir);
}

/** The program that a user calls. A link to it is preferred, because an upgrade changes the link. */
function launcher(script: string): string {
  const own = join(dirname(dirname(script)), "agent-sandbox");
  if (!existsSync(own))
    throw new CommandError("Cannot make a service of the sources: build the program with make build");
  const links = ["/usr/local/bin/agent-sandbox", "/usr/bin/agent-sandbox"];
  return links.find((link) => existsSync(link) && realpathSync(link) === realpathSync(own)) ?? own;
}

function mustManageServices(what: string): void {
  if (process.getuid?.() !== 0) throw new CommandError(`only root can ${what} a service: run the command with sudo`);
  if (existsSync("/run/systemd/system")) return;
  throw new CommandError(
    `Cannot ${what} the service: systemd does not run on this machine; "agent-sandbox service print" prints the unit`,
  );
}

const isActive = (): boolean => spawnSync("systemctl", ["is-active", "--quiet", service]).status === 0;

function systemctl(...words: string[]): void {
  const { status, stderr, error } = spawnSync("systemctl", words, { encoding: "utf8" });
  if (status === 0) return;
  throw new CommandError(`Cannot run "systemctl ${words.join(" ")}": ${error?.message ?? stderr.trim()}`);
}
