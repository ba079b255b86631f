import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pythonWith } from "../clients/python-suite.ts";
import { runCommand } from "../clients/run-command.ts";
import { demand } from "../clients/unavailable.ts";

const source = join(import.meta.dirname, "../../clients/python");

/** The Python with a published version of the reference's package. By default, that which ours replaces. */
export function pythonWithReference(signal: AbortSignal, version = "1.0.8"): Promise<string> {
  const requirements = join(import.meta.dirname, `python/requirements-${version}.txt`);
  return pythonWith(`reference-${version}`, requirements, signal);
}

/** The Python with what our package needs. */
export function pythonWithDependencies(signal?: AbortSignal): Promise<string> {
  return pythonWith("sdk", join(source, "requirements.txt"), signal);
}

/** Our Python package, built and installed into a folder of its own. With this folder in PYTHONPATH, it replaces the published one. */
export class OurPackage implements AsyncDisposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async install(): Promise<OurPackage> {
    const python = await pythonWithDependencies();
    const folder = mkdtempSync(join(tmpdir(), "our-package-"));
    // The build writes into its sources.
    const copy = join(folder, "sources");
    const wheels = join(folder, "wheels");
    cpSync(source, copy, { recursive: true });
    const pip = async (...words: string[]): Promise<void> => {
      const common = ["-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check"];
      demand("build the Python package", await runCommand(python, [...common, ...words], { cwd: folder }));
    };
    await pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, copy);
    const [wheel = ""] = readdirSync(wheels);
    await pip("install", "--no-deps", "--target", join(folder, "installed"), join(wheels, wheel));
    return new OurPackage(folder);
  }

  get env(): Readonly<Record<string, string>> {
    return { PYTHONPATH: join(this.#folder, "installed") };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.#folder, { recursive: true });
  }
}
