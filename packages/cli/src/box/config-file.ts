import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandError } from "../command-error.ts";

/** One part of `config.json` in a data folder, and how to refuse it. */
export interface ConfigPart {
  /** `{}` if the file or the part does not exist. */
  readonly found: unknown;
  readonly refuse: (why: string) => CommandError;
}

/** Reads a part of `config.json`. The node's settings refuse unknown parts. */
export async function readConfigPart(dataDir: string, part: string): Promise<ConfigPart> {
  const path = join(dataDir, "config.json");
  const refuse = (why: string): CommandError => new CommandError(`Cannot use "${path}": ${why}`);
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "{}";
    throw error;
  });
  try {
    const whole: unknown = JSON.parse(text);
    return { found: isObject(whole) ? (whole[part] ?? {}) : {}, refuse };
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error));
  }
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
