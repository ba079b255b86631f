import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type InnerResults, readInnerResults } from "./inner-results.ts";
import { runCommand } from "./run-command.ts";
import { demand } from "./unavailable.ts";

/** Runs the suite of the Python client. The first run on a machine creates a virtual environment. */
export async function runPythonSuite(kubeconfig: string, signal: AbortSignal): Promise<InnerResults> {
  const cwd = `${import.meta.dirname}/python`;
  const made = await runCommand(`${cwd}/environment.sh`, [], { signal });
  const python = demand("make a virtual environment", made).trim();
  const folder = mkdtempSync(join(tmpdir(), "python-results-"));
  try {
    const results = join(folder, "results");
    writeFileSync(results, "");
    const env = { KUBECONFIG: kubeconfig, TEST_RESULTS: results, PYTHONDONTWRITEBYTECODE: "1" };
    const ended = await runCommand(python, ["-m", "pytest", "-q"], { cwd, env, signal });
    const told = readInnerResults(readFileSync(results, "utf8"));
    if (ended.code !== 0 && told.failed.length === 0) demand("run pytest", ended);
    return told;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
