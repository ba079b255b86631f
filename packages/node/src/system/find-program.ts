import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { cannotRun } from "./run-command.ts";

/** Debian keeps some of the programs we need where the PATH of an ordinary user does not look. */
const moreFolders = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/** The path of a program, or an error that names the package which carries it. */
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
