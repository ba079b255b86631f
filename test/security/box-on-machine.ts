import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { Outcome } from "../e2e/box.ts";
import type { Machine } from "./machine.ts";

const program = join(import.meta.dirname, "../../dist/agent-sandbox");

/** The built command line on a machine of the test. In the machine's own network the ports are always free. */
export class BoxOnMachine {
  readonly machine: Machine;
  readonly dataDir: string;
  readonly apiPort: number = 7643;
  readonly routerPort: number = 7680;

  constructor(machine: Machine, folder: string) {
    this.machine = machine;
    this.dataDir = join(folder, "data");
  }

  /** `settings` is the content of config.json. */
  async up(settings: object = {}): Promise<void> {
    mkdirSync(this.dataDir, { recursive: true, mode: 0o700 });
    writeFileSync(join(this.dataDir, "config.json"), JSON.stringify(settings), { mode: 0o600 });
    const listen = ["--listen", `127.0.0.1:${this.apiPort}`, "--router-listen", `127.0.0.1:${this.routerPort}`];
    expectSuccess(await this.run("up", ...listen, "--allow-runtime", "runc"));
  }

  run(...words: string[]): Promise<Outcome> {
    return this.machine.run(program, "--data-dir", this.dataDir, ...words);
  }

  pid(): number {
    return (JSON.parse(readFileSync(join(this.dataDir, "box.json"), "utf8")) as { pid: number }).pid;
  }

  log(): string {
    return readFileSync(join(this.dataDir, "box.log"), "utf8");
  }

  /** How to reach the API, and the administrator's token. */
  access(): { readonly server: string; readonly ca: string; readonly token: string } {
    const { clusters, users } = parse(readFileSync(join(this.dataDir, "kubeconfig"), "utf8")) as Kubeconfig;
    const { server = "", "certificate-authority-data": ca = "" } = clusters[0]?.cluster ?? {};
    return { server, ca: Buffer.from(ca, "base64").toString("utf8"), token: users[0]?.user.token ?? "" };
  }
}

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: Record<string, string> }[];
  readonly users: readonly { readonly user: { readonly token?: string } }[];
}

export function expectSuccess({ code, stdout, stderr }: Outcome): void {
  if (code !== 0) throw new Error(`The command line ended with ${code}: ${stdout}${stderr}`);
}
