import { execFile } from "node:child_process";
import { join } from "node:path";
import type { Outcome } from "../e2e/box.ts";

const root = join(import.meta.dirname, "../..");

/** The folder of the Python SDK. */
export const pythonPackage: string = join(root, "clients/python");

/** Where Python finds the sources of the SDK. */
export const pythonSources: Readonly<Record<string, string>> = { PYTHONPATH: join(pythonPackage, "src") };

const environment = join(root, "scripts/python-environment.sh");
const requirements = join(pythonPackage, "requirements.txt");

/** For `env`: a command that runs a file with the SDK. */
export const pythonCommand: readonly string[] = [
  ...Object.entries(pythonSources).map(([name, value]) => `${name}=${value}`),
  "sh",
  "-c",
  `exec "$(${environment} sdk ${requirements})" "$0"`,
];

/** Longer than it takes to install the packages on a busy machine. */
export const pythonInstallTimeoutMs = 900_000;

/** The Python of a virtual environment with the packages that the SDK needs, or why there is none. */
export async function pythonEnvironment(python = "python3"): Promise<{ python: string } | { missing: string }> {
  const { code, stdout, stderr } = await run(environment, ["sdk", requirements, python]);
  if (code === 0) return { python: stdout.trim() };
  if (code === 127) return { missing: stderr.trim() };
  throw new Error(stderr);
}

/** Like `pythonEnvironment`, for tests that cannot do without. */
export async function requirePython(): Promise<string> {
  const found = await pythonEnvironment();
  if ("missing" in found) throw new Error(found.missing);
  return found.python;
}

/** Runs a program in the folder of the SDK. */
export function run(
  program: string,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = {
      cwd: pythonPackage,
      encoding: "utf8" as const,
      env: { ...process.env, ...pythonSources, ...env },
    };
    execFile(program, [...words], options, (error, stdout, stderr) => {
      const code = typeof error?.code === "number" ? error.code : error === null ? 0 : -1;
      resolve({ code, stdout, stderr });
    });
  });
}
