import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type InnerResults, readInnerResults } from "./inner-results.ts";
import { runCommand } from "./run-command.ts";
import { demand } from "./unavailable.ts";

const root = join(import.meta.dirname, "../..");

/** The Python of a virtual environment with the packages of a file. The first run on a machine installs them. */
export async function pythonWith(name: string, requirements: string, signal?: AbortSignal): Promise<string> {
  const options = signal === undefined ? {} : { signal };
  const made = await runCommand(join(root, "scripts/python-environment.sh"), [name, requirements], options);
  return demand("make a virtual environment", made).trim();
}

/** The Python with the official client for Kubernetes. */
export function pythonWithClient(signal: AbortSignal): Promise<string> {
  return pythonWith("clients", join(import.meta.dirname, "python/requirements.txt"), signal);
}

export interface PytestRun {
  readonly python: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Runs the tests of a folder with pytest. */
export async function runPytest({ python, folder, env, signal }: PytestRun): Promise<InnerResults> {
  const scratch = mkdtempSync(join(tmpdir(), "python-results-"));
  try {
    const results = join(scratch, "results");
    writeFileSync(results, "");
    const modules = [join(import.meta.dirname, "pytest"), ...(env["PYTHONPATH"]?.split(delimiter) ?? [])];
    const added = { PYTHONPATH: modules.join(delimiter), TEST_RESULTS: results, PYTHONDONTWRITEBYTECODE: "1" };
    // Nothing is left in the sources.
    const words = ["-m", "pytest", "-q", "-p", "inner_results", "-p", "no:cacheprovider"];
    const ended = await runCommand(python, words, { cwd: folder, env: { ...env, ...added }, signal });
    const told = readInnerResults(readFileSync(results, "utf8"));
    if (ended.code !== 0 && told.failed.length === 0) demand("run pytest", ended);
    return told;
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** Runs the suite of the official client. */
export async function runPythonSuite(kubeconfig: string, signal: AbortSignal): Promise<InnerResults> {
  const python = await pythonWithClient(signal);
  return runPytest({
    python,
    folder: join(import.meta.dirname, "python"),
    env: { KUBECONFIG: kubeconfig },
    signal,
  });
}
