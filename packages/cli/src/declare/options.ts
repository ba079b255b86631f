import type { Command } from "commander";
import { defaultDataDir } from "../box/box-paths.ts";

/** The box of a command. This option is accepted before and after the command, as in kubectl. */
export function withFolder(command: Command): Command {
  return command.option(
    "--data-dir <folder>",
    `the box's data folder (AGENT_SANDBOX_DATA_DIR; default ${defaultDataDir})`,
  );
}

/** The API server of a command, the running box by default. */
export function withServer(command: Command): Command {
  return withFolder(command)
    .option("--kubeconfig <file>", "kubeconfig of the API server (default: the running box, then KUBECONFIG)")
    .option("--context <name>", "context of the kubeconfig; without --kubeconfig, of kubectl's files")
    .option("-n, --namespace <name>", "namespace of the objects (default: the namespace in the kubeconfig)");
}

/** Collects the values of an option that can be repeated. */
export function appended(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

export const longestWait: readonly [flags: string, description: string, value: string] = [
  "--timeout <duration>",
  "how long to wait, as in 30s or 5m",
  "2m",
];
