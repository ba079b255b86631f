import { getSystemErrorMessage } from "node:util";
import { CommandError } from "./command-error.ts";

/** Prints a failure as one line and gives the exit code. Only what we did not foresee shows its stack. */
export function reportFailure(error: unknown): number {
  console.error(lineOf(error) ?? error);
  return error instanceof CommandError ? error.exitCode : 1;
}

/** A failure without where it came from, for who says that. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return isSystemError(error) ? systemErrorLine(error) : error.message;
}

/** What a person can do something about, in one line; undefined for a mistake of ours. */
export function lineOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof CommandError || error.name === "NodeError") return `error: ${error.message}`;
  if (error.name === "KubeError") return `Error from server: ${error.message}`;
  return isSystemError(error) ? `error: ${systemErrorLine(error)}` : undefined;
}

interface SystemError extends Error {
  readonly errno: number;
  readonly syscall: string;
  readonly path?: string;
  readonly address?: string;
  readonly port?: number;
}

/** What the kernel refused: a file that is not there, a port that is taken, a disk that is full. */
function isSystemError(error: Error): error is SystemError {
  const { errno, syscall } = error as Partial<SystemError>;
  return typeof errno === "number" && typeof syscall === "string";
}

/** Node's own text begins with a code and ends with the system call. */
function systemErrorLine({ errno, syscall, path, address, port }: SystemError): string {
  const thing = path ?? (address === undefined ? undefined : [address, port].filter(Boolean).join(":"));
  return `Cannot ${syscall === "listen" ? "listen on" : syscall}${thing === undefined ? "" : ` "${thing}"`}: ${getSystemErrorMessage(errno)}`;
}
