import { readdir } from "node:fs/promises";
import { hasCode } from "../errors.ts";

/** What is in a folder; nothing is in one that does not exist. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}
