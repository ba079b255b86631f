import { nextStepAfter } from "./client/next-step.ts";
import { printable } from "./client/printable.ts";
import { CommandError } from "./command-error.ts";

/** Prints an error and returns the exit code. Expected errors are one line; only unexpected ones show a stack. */
export function reportFailure(error: unknown): number {
  const said = lineOf(error);
  const step = nextStepAfter(error);
  const line = said === undefined || step === undefined ? said : `${said}; ${step}`;
  // A message of the server can have several lines, each of which may quote a tenant.
  console.error(line === undefined ? error : line.split("\n").map(printable).join("\n"));
  return error instanceof CommandError ? error.exitCode : 1;
}

/** The message of an error, without the prefix that `lineOf` adds. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return isSystemError(error) ? systemErrorLine(error) : error.message;
}

/** The line to print for an error that a user can act on, or undefined for a bug in this program. */
export function lineOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof CommandError || error.name === "NodeError") return `error: ${error.message}`;
  if (error.name === "KubeError") return `Error from server: ${error.message}`;
  const missing = missingPackage(error);
  if (missing !== undefined) return `error: ${missing}`;
  return isSystemError(error) ? `error: ${systemErrorLine(error)}` : undefined;
}

/** The program was copied out of its clone without the packages that have native code; see `scripts/program.ts`. */
function missingPackage(error: Error): string | undefined {
  if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") return undefined;
  const [, name] = /^Cannot find package '([^']+)'/.exec(error.message) ?? [];
  if (name === undefined) return undefined;
  return `Cannot find the package "${name}" beside this program: use a release (make release), or make a link to agent-sandbox in its clone`;
}

interface SystemError extends Error {
  readonly errno: number;
  readonly syscall: string;
  readonly path?: string;
  readonly address?: string;
  readonly port?: number;
}

/** An error of a system call: a missing file, a port in use, a full disk. */
function isSystemError(error: Error): error is SystemError {
  const { errno, syscall } = error as Partial<SystemError>;
  return typeof errno === "number" && typeof syscall === "string";
}

/** Our own wording, because Node's message is a code followed by the name of the system call. */
function systemErrorLine({ errno, syscall, path, address, port }: SystemError): string {
  // An import would evaluate all exports of "node:util", which takes a tenth of the time of a short command.
  const { getSystemErrorMessage } = process.getBuiltinModule("node:util");
  const thing = path ?? (address === undefined ? undefined : [address, port].filter(Boolean).join(":"));
  return `Cannot ${syscall === "listen" ? "listen on" : syscall}${thing === undefined ? "" : ` "${thing}"`}: ${getSystemErrorMessage(errno)}`;
}
