import { RpcError } from "../../connect/rpc-error.ts";
import { flagField, integerField, listField, objectField, textField, textMapField } from "../../http/fields.ts";
import { badRequest } from "../../http/http-error.ts";
import type { JsonObject } from "../../http/read-body.ts";

export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

export interface StartRequest {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly terminal: TerminalSize | undefined;
  readonly hasInput: boolean;
}

export function readStart(message: JsonObject): StartRequest {
  const process = objectField(message, "process") ?? {};
  const cmd = textField(process, "cmd") ?? "";
  if (cmd === "") throw badRequest("process.cmd is required");
  if (textField(message, "tag") !== undefined) throw new RpcError("unimplemented", "tag is not supported");
  const pty = objectField(message, "pty");
  return {
    command: [cmd, ...texts(listField(process, "args") ?? [])],
    environment: textMapField(process, "envs"),
    cwd: textField(process, "cwd") || undefined,
    terminal: pty === undefined ? undefined : readSize(pty),
    hasInput: flagField(message, "stdin") ?? true,
  };
}

export function readSize(pty: JsonObject): TerminalSize {
  const size = objectField(pty, "size") ?? {};
  const side = (name: string, byDefault: number): number => {
    const value = integerField(size, name) || byDefault;
    if (value < 1 || value > 65_535) throw badRequest(`pty.size.${name} must be 1 to 65535`);
    return value;
  };
  return { cols: side("cols", 80), rows: side("rows", 24) };
}

/** The process that a request names. */
export function readProcessId(message: JsonObject): number {
  const process = objectField(message, "process") ?? {};
  if (textField(process, "tag") !== undefined) throw new RpcError("unimplemented", "tag is not supported");
  const pid = integerField(process, "pid");
  if (pid === undefined || pid < 1 || pid > 2 ** 31 - 1) throw badRequest("process.pid is required");
  return pid;
}

function texts(values: readonly unknown[]): string[] {
  return values.map((value) => {
    if (typeof value === "string") return value;
    throw badRequest("process.args must be a list of strings");
  });
}
