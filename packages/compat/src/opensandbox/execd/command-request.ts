import { flagField, integerField, listField, textField, textMapField } from "../../http/fields.ts";
import type { JsonObject } from "../../http/read-body.ts";
import { invalidRequest } from "./execd-error.ts";

export interface CommandRequest {
  /** A script for the shell, or a program with its arguments. */
  readonly program: { readonly script: string } | { readonly words: readonly string[] };
  readonly cwd: string | undefined;
  readonly background: boolean;
  readonly timeoutMs: number | undefined;
  readonly user: string | undefined;
  readonly variables: Readonly<Record<string, string>>;
}

/** The longest time that sandboxd accepts is longer. */
const longestMs = 30 * 86_400_000;

export function readCommand(body: JsonObject): CommandRequest {
  const script = textField(body, "command") || undefined;
  const words = listField(body, "argv");
  if (words !== undefined && !words.every((word) => typeof word === "string")) {
    throw invalidRequest("argv must be a list of strings");
  }
  const hasWords = words !== undefined && words.length > 0;
  if ((script === undefined) === !hasWords) throw invalidRequest("Exactly one of command and argv is required");
  return {
    program: script === undefined ? { words: words ?? [] } : { script },
    cwd: textField(body, "cwd") || undefined,
    background: flagField(body, "background") ?? false,
    timeoutMs: readTimeout(body),
    user: readUser(body),
    variables: textMapField(body, "envs"),
  };
}

/** In milliseconds; zero is no limit. */
export function readTimeout(body: JsonObject): number | undefined {
  const ms = integerField(body, "timeout") ?? 0;
  if (ms < 0 || ms > longestMs) throw invalidRequest(`timeout can be 0 to ${longestMs} milliseconds`);
  return ms === 0 ? undefined : ms;
}

function readUser(body: JsonObject): string | undefined {
  const [uid, gid] = [integerField(body, "uid"), integerField(body, "gid")];
  for (const id of [uid, gid]) {
    if (id !== undefined && (id < 0 || id > 2 ** 32 - 2))
      throw invalidRequest("uid and gid must be user and group ids");
  }
  if (uid === undefined) {
    if (gid !== undefined) throw invalidRequest("gid needs uid");
    return undefined;
  }
  return gid === undefined ? String(uid) : `${uid}:${gid}`;
}
