import { join } from "node:path";
import type { Runner } from "./contract.ts";
import { GoRunner } from "./go-runner.ts";
import { ProcessRunner } from "./process-runner.ts";
import { pythonSources, requirePython } from "./python-package.ts";
import { TypeScriptRunner } from "./typescript-runner.ts";

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
  Go: (dataDir, sandbox) => GoRunner.open(dataDir, sandbox),
  Python: python("sync"),
  "Python-async": python("async"),
};
