import { StoreError, type StoreProblem } from "@agent-sandbox/apiserver";
import { CommandError } from "../command-error.ts";
import { reasonOf } from "../report-failure.ts";
import type { BoxPaths } from "./box-paths.ts";
import { findPortHolder } from "./port-holder.ts";

export interface FailedStart {
  readonly paths: BoxPaths;
  readonly addresses: {
    readonly api: { readonly port: number };
    readonly router: { readonly port: number };
    readonly dashboard: { readonly port: number };
    readonly compat: { readonly port: number };
  };
  readonly findHolder?: (port: number) => string | undefined;
}

/** One line that says why the box cannot start and what to do about it. Returns undefined for an error without advice. */
export function explainFailedStart(error: unknown, start: FailedStart): CommandError | undefined {
  // The process in the background has explained it.
  if (error instanceof CommandError) return undefined;
  const next = adviceFor(error, start);
  return next === undefined ? undefined : new CommandError(`${reasonOf(error)}${next}`, { cause: error });
}

function adviceFor(error: unknown, start: FailedStart): string | undefined {
  if (error instanceof StoreError) return storeAdvice[error.problem](start.paths);
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") return portAdvice(error as { readonly port?: number }, start);
  if (code === "EADDRNOTAVAIL")
    return `: this machine does not have the address; choose another one with ${flagOf(error as Listen, start)}`;
  if (isDiskFull(error))
    return `; free some space on the disk of "${start.paths.dataDir}", or choose another --data-dir`;
  if (code === "EROFS") return "; choose a --data-dir on a disk that can be written";
  return undefined;
}

interface Listen {
  readonly port?: number;
}

function flagOf({ port }: Listen, { addresses }: FailedStart): string {
  if (port === addresses.api.port) return "--listen ADDRESS:PORT";
  if (port === addresses.router.port) return "--router-listen ADDRESS:PORT";
  if (port === addresses.dashboard.port) return "--dashboard-listen ADDRESS:PORT";
  return port === addresses.compat.port ? "--compat-listen ADDRESS:PORT" : "--listen ADDRESS:PORT";
}

function portAdvice(error: Listen, start: FailedStart): string {
  const { findHolder = findPortHolder } = start;
  const holder = error.port === undefined ? undefined : findHolder(error.port);
  return `${holder === undefined ? "" : ` by ${holder}`}; end that program, or choose another port with ${flagOf(error, start)}`;
}

const storeAdvice: Readonly<Record<StoreProblem, (paths: BoxPaths) => string>> = {
  damaged: ({ dataDir }) =>
    `; restore a backup with "agent-sandbox --data-dir ${dataDir} restore FILE", where FILE was made by "agent-sandbox backup"`,
  unreadable: ({ dataDir }) =>
    `; free some space if the disk of "${dataDir}" is full, or repair the disk and restore a backup`,
  foreign: () => "; choose another --data-dir",
  otherVersion: () => "; start the box with the version of agent-sandbox that wrote it",
};

/** Also when the API server reports it, which wraps the error of SQLite. */
function isDiskFull(error: unknown): boolean {
  const { code, message = "", cause } = error as Partial<NodeJS.ErrnoException & { readonly cause: unknown }>;
  if (code === "ENOSPC" || code === "EDQUOT" || message.includes("database or disk is full")) return true;
  return cause instanceof Error && isDiskFull(cause);
}
