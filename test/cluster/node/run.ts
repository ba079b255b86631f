import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { join } from "node:path";

/** Debian keeps some programs in folders that are only on the PATH of root's login shell. */
const path = `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin`;

/** The path of a program, or undefined if it is missing. */
export function findProgram(file: string): string | undefined {
  const candidates = file.startsWith("/") ? [file] : path.split(":").map((folder) => join(folder, file));
  return candidates.find((candidate) => {
    try {
      accessSync(candidate, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Runs a program to its end and returns its output. Throws what it wrote to stderr if it fails. */
export function run(file: string, words: readonly string[], input = ""): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: { ...process.env, PATH: path }, maxBuffer: 64 * 1024 * 1024 };
    const child = execFile(file, words, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`Cannot run "${[file, ...words].join(" ")}": ${stderr.trim() || error.message}`));
    });
    // The program may exit without reading its input.
    child.stdin?.on("error", () => undefined).end(input);
  });
}
