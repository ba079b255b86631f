import { globSync, readFileSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildPythonPackage } from "../../scripts/python-package.ts";
import { Box, buildCommandLine, whyNoBox } from "../e2e/box.ts";
import { pythonEnvironment, pythonInstallTimeoutMs, requirePython, run } from "./python-package.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const root = join(import.meta.dirname, "../..");
const passed = { code: 0, stderr: "" };

describe("the Python package", { timeout: pythonInstallTimeoutMs }, () => {
  test("passes its unit tests", async () => {
    const { code, stdout } = await run(await requirePython(), [
      "-m",
      "pytest",
      "-q",
      "-p",
      "no:cacheprovider",
      "tests/native",
    ]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/ passed/) });
  });

  test("has complete types", async () => {
    const cache = join(root, ".cache/mypy");
    const { code, stdout } = await run(await requirePython(), ["-m", "mypy", "--cache-dir", cache]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("Success") });
  });
});

/** A Python that is on the PATH or that pyenv has installed. */
function candidatesOf(version: string): string[] {
  const pyenv = process.env["PYENV_ROOT"] ?? join(homedir(), ".pyenv");
  return [`python${version}`, ...globSync(join(pyenv, `versions/${version}.*/bin/python`))];
}

async function environmentOf(version: string): Promise<{ python: string } | { missing: string }> {
  let found: Awaited<ReturnType<typeof pythonEnvironment>> = { missing: "" };
  for (const python of candidatesOf(version)) {
    found = await pythonEnvironment(python);
    if ("python" in found) return found;
  }
  return found;
}

describe.skipIf(reason !== undefined)("the Python package with a box", { timeout: pythonInstallTimeoutMs }, () => {
  let box: Box;
  let wheels: string;

  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    const { code, stderr } = await box.up();
    if (code !== 0) throw new Error(stderr);
    wheels = await buildPythonPackage(join(root, `.cache/wheels-${process.pid}`));
  }, pythonInstallTimeoutMs);
  afterAll(async () => {
    await box?.[Symbol.asyncDispose]();
    if (wheels !== undefined) rmSync(wheels, { recursive: true, force: true });
  });

  test("passes its tests with a box", async () => {
    const env = { AGENT_SANDBOX_DATA_DIR: box.dataDir };
    const { code, stdout } = await run(
      await requirePython(),
      ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/box"],
      env,
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/ passed/) });
  });

  test("runs the example of the README", async () => {
    const [, example = ""] = /^```python\n(.*?)^```$/ms.exec(readFileSync(join(root, "README.md"), "utf8")) ?? [];
    const env = { AGENT_SANDBOX_DATA_DIR: box.dataDir };
    const shown = "    print(sandbox.files.read_text('answer.txt'), end='')\n";
    expect(await run(await requirePython(), ["-c", example + shown], env)).toEqual({ ...passed, stdout: "42\n" });
  });

  test.for(["3.11", "3.12", "3.13"])(
    "runs the first example of the guide with Python %s from the wheel",
    async (version, { skip }) => {
      const found = await environmentOf(version);
      if ("missing" in found) return skip(`Python ${version}: ${found.missing}`);
      const [, example = ""] =
        /^```python\n(.*?)^```$/ms.exec(readFileSync(join(root, "docs/guides/python.md"), "utf8")) ?? [];
      // A wheel can be imported without being installed, so the environments are not changed.
      const env = { AGENT_SANDBOX_DATA_DIR: box.dataDir, PYTHONPATH: globSync(join(wheels, "*.whl")).join(":") };
      const { code, stdout, stderr } = await run(found.python, ["-c", example], env);
      expect({ code, stderr }).toEqual(passed);
      expect(stdout).toMatch(/^0 Hello from sandbox-/);
    },
  );
});
