import { readdir } from "node:fs/promises";
import { hasCode } from "../errors.ts";

/** The names in a folder; an empty list if it does not exist. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}
