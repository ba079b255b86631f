/** Builds the wheel of the Python SDK into `dist/python`. */
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const source = join(root, "clients/python");

/** Returns the folder of the wheel. */
export async function buildPythonPackage(folder: string = join(root, "dist/python")): Promise<string> {
  const environment = join(root, "scripts/python-environment.sh");
  const words = ["sdk", join(source, "requirements.txt")];
  const python = execFileSync(environment, words, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
  // setuptools writes beside the sources.
  const copy = mkdtempSync(join(tmpdir(), "python-package-"));
  try {
    cpSync(join(source, "src"), join(copy, "src"), {
      recursive: true,
      filter: (path) => !path.endsWith("__pycache__"),
    });
    copyFileSync(join(source, "pyproject.toml"), join(copy, "pyproject.toml"));
    copyFileSync(join(root, "docs/guides/python.md"), join(copy, "README.md"));
    copyFileSync(join(root, "LICENSE"), join(copy, "LICENSE"));
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const pip = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, copy];
    execFileSync(python, pip, { stdio: ["ignore", "ignore", "inherit"] });
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
  return folder;
}

if (import.meta.main) console.log(await buildPythonPackage());
