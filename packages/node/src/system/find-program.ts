import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { cannotRun } from "./run-command.ts";

/** Folders of programs that are not in the PATH of ordinary users on Debian. */
const moreFolders = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/** The path of a program. Throws an error that names the Debian package of a missing program. */
export async function findProgram(name: string, path: string = process.env["PATH"] ?? ""): Promise<string> {
  const folders = [...path.split(delimiter), ...moreFolders].filter(Boolean);
  for (const candidate of isAbsolute(name) ? [name] : folders.map((folder) => join(folder, name))) {
    const found = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return candidate;
  }
  throw cannotRun(name, Object.assign(new Error("not found"), { code: "ENOENT" }));
}
