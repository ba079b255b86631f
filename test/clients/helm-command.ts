import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Ended, runCommand } from "./run-command.ts";
import { demand } from "./unavailable.ts";

/** Builds Helm if it is missing, which takes minutes once for each machine. */
export async function ensureHelm(signal?: AbortSignal): Promise<string> {
  const built = await runCommand(`${import.meta.dirname}/helm/build.sh`, [], signal === undefined ? {} : { signal });
  return demand("build Helm", built).trim();
}

/** Helm with a separate home folder, so that it does not use the user's settings. */
export class Helm implements Disposable {
  readonly #file: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #home: string = mkdtempSync(join(tmpdir(), "helm-home-"));

  constructor(file: string, kubeconfig: string) {
    this.#file = file;
    this.#env = {
      KUBECONFIG: kubeconfig,
      HELM_CACHE_HOME: join(this.#home, "cache"),
      HELM_CONFIG_HOME: join(this.#home, "config"),
      HELM_DATA_HOME: join(this.#home, "data"),
    };
  }

  try(...words: string[]): Promise<Ended> {
    return runCommand(this.#file, words, { env: this.#env });
  }

  async run(...words: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.try(...words);
    if (code !== 0) throw new Error(`Cannot run helm ${words.join(" ")}: ${stderr}`);
    return stdout;
  }

  async json(...words: string[]): Promise<unknown> {
    return JSON.parse(await this.run(...words, "-o", "json"));
  }

  [Symbol.dispose](): void {
    rmSync(this.#home, { recursive: true, force: true });
  }
}
