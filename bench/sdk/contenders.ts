import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../test/clients/run-command.ts";
import { runGo } from "../../test/sdk/go-module.ts";
import { pythonSources, requirePython } from "../../test/sdk/python-package.ts";
import type { PoolBox } from "./box.ts";
import { type Contender, ProcessContender } from "./contender.ts";
import { TypeScriptContender } from "./typescript.ts";

const root = join(import.meta.dirname, "../..");
const script = (name: string): string => join(import.meta.dirname, `python/${name}.py`);

/** The contenders that can run on this machine, by name. */
export async function openContenders(
  { dataDir, pool }: PoolBox,
  owned: AsyncDisposableStack,
): Promise<ReadonlyMap<string, Contender>> {
  const openers: Readonly<Record<string, () => Promise<Contender>>> = {
    ts: () => TypeScriptContender.open(dataDir, pool),
    go: async () => new ProcessContender([await buildGo(), dataDir, pool]),
    python: async () => new ProcessContender([await requirePython(), script("sdk"), dataDir, pool], pythonSources),
    reference: async () => new ProcessContender([await referencePython(), script("reference"), dataDir, pool]),
  };
  const opened = new Map<string, Contender>();
  for (const [name, open] of Object.entries(openers)) {
    try {
      opened.set(name, owned.use(await open()));
    } catch (error) {
      console.log(`${name} is left out: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return opened;
}

/** How long the import of the package takes, in a new interpreter. */
export async function importMs(sdk: "python" | "reference"): Promise<number> {
  const measure =
    "import time; started = time.perf_counter(); import k8s_agent_sandbox; print(time.perf_counter() - started)";
  const [python, env] = sdk === "python" ? [await requirePython(), pythonSources] : [await referencePython(), {}];
  const { stdout } = await runCommand(python, ["-c", measure], { env });
  return Number(stdout) * 1000;
}

async function buildGo(): Promise<string> {
  const program = join(root, ".cache/bench-sdk-go");
  mkdirSync(join(root, ".cache"), { recursive: true });
  const { code, stderr } = await runGo("build", "-o", program, join(import.meta.dirname, "go/main.go"));
  if (code !== 0) throw new Error(stderr);
  return program;
}

/** The interpreter of a virtual environment with the published client, which the first call installs. */
async function referencePython(): Promise<string> {
  const requirements = join(root, "test/reference-clients/python/requirements-1.0.8.txt");
  const { code, stdout, stderr } = await runCommand(join(root, "scripts/python-environment.sh"), [
    "reference-1.0.8",
    requirements,
  ]);
  if (code !== 0) throw new Error(stderr);
  return stdout.trim();
}
