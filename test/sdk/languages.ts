import { join } from "node:path";
import type { Runner } from "./contract.ts";
import { runGo } from "./go-module.ts";
import { ProcessRunner } from "./process-runner.ts";
import { pythonSources, requirePython } from "./python-package.ts";
import { TypeScriptRunner } from "./typescript-runner.ts";

const goRunner = join(import.meta.dirname, "../../.cache/sdk-contract-go");

type Language = (typeof languageNames)[number];

export const languageNames = ["TypeScript", "Go", "Python", "Python-async"] as const;

const python =
  (kind: "sync" | "async") =>
  async (dataDir: string, sandbox: string): Promise<Runner> => {
    const runner = join(import.meta.dirname, "python_runner.py");
    return new ProcessRunner([await requirePython(), runner, kind, dataDir, sandbox], pythonSources);
  };

/** Opens the runner of a language for a sandbox of a box. */
export const languages: Readonly<Record<Language, (dataDir: string, sandbox: string) => Promise<Runner>>> = {
  TypeScript: (dataDir, sandbox) => TypeScriptRunner.open({ dataDir }, sandbox),
  Go: async (dataDir, sandbox) => {
    // Two test files may build it at the same time.
    const program = `${goRunner}-${process.pid}`;
    const { code, stderr } = await runGo("build", "-o", program, "./internal/contract");
    if (code !== 0) throw new Error(stderr);
    return new ProcessRunner([program, dataDir, sandbox]);
  },
  Python: python("sync"),
  "Python-async": python("async"),
};
