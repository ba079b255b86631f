import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../free-port.ts";

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

export interface Rule {
  readonly name: string;
  readonly health: string;
  readonly lastError?: string;
  readonly state: string;
}

export interface Target {
  readonly health: string;
  readonly lastError: string;
  readonly labels: { readonly job: string };
}

/** Debian's Prometheus with a configuration and a folder of its own, on a free port. */
export class Prometheus implements AsyncDisposable {
  readonly #folder: string;
  readonly #child: ChildProcess;
  readonly #url: string;

  private constructor(folder: string, child: ChildProcess, url: string) {
    [this.#folder, this.#child, this.#url] = [folder, child, url];
  }

  /** `write` gets a folder for the files that the configuration names, and returns the configuration. */
  static async start(write: (folder: string) => string): Promise<Prometheus> {
    const folder = mkdtempSync(join(tmpdir(), "agent-sandbox-prometheus-"));
    const config = join(folder, "prometheus.yml");
    writeFileSync(config, write(folder));
    const address = `127.0.0.1:${await freePort()}`;
    const flags = [`--config.file=${config}`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=${address}`];
    const child = spawn("prometheus", [...flags, "--log.level=warn"], { stdio: ["ignore", "ignore", "inherit"] });
    child.once("error", () => undefined);
    return new Prometheus(folder, child, `http://${address}`);
  }

  get hasEnded(): boolean {
    return this.#child.pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  async query(expr: string): Promise<readonly Sample[]> {
    const { result } = await this.#get<{ result: readonly Sample[] }>(`query?query=${encodeURIComponent(expr)}`);
    return result;
  }

  async rules(): Promise<readonly Rule[]> {
    const { groups } = await this.#get<{ groups: readonly { rules: readonly Rule[] }[] }>("rules");
    return groups.flatMap(({ rules }) => rules);
  }

  async targets(): Promise<readonly Target[]> {
    return (await this.#get<{ activeTargets: readonly Target[] }>("targets")).activeTargets;
  }

  async #get<T>(path: string): Promise<T> {
    if (this.hasEnded) throw new Error("Cannot ask Prometheus: it has ended");
    const response = await fetch(`${this.#url}/api/v1/${path}`);
    const answer = (await response.json()) as { status: string; error?: string; data: T };
    if (answer.status !== "success") throw new Error(`Prometheus refuses "${path}": ${answer.error}`);
    return answer.data;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.hasEnded) {
      this.#child.kill("SIGKILL");
      await once(this.#child, "exit");
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Runs `promtool test rules` with series and the alerts that they must cause. Returns what it prints if a test fails. */
export function testRules(rules: string, tests: readonly object[]): string {
  const folder = mkdtempSync(join(tmpdir(), "agent-sandbox-rules-"));
  try {
    writeFileSync(join(folder, "alerts.yml"), readFileSync(rules));
    const file = join(folder, "tests.json");
    writeFileSync(file, JSON.stringify({ rule_files: ["alerts.yml"], evaluation_interval: "1m", tests }));
    const { status, stdout, stderr, error } = spawnSync("promtool", ["test", "rules", file], { encoding: "utf8" });
    return status === 0 ? "" : `${error?.message ?? ""}${stdout}${stderr}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
