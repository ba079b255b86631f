import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { buildCommandLine } from "../../test/e2e/box.ts";

/** sandboxd from `make build`, as a process of this machine. A container adds nothing to the time of a command in it. */
export interface Daemon extends AsyncDisposable {
  readonly host: string;
  /** The port of the API that runs commands. */
  readonly port: number;
  readonly token: string;
  pssMib(): number;
}

const host = "127.77.0.2";
const port = 8888;

export async function startDaemon(): Promise<Daemon> {
  const architecture = process.arch === "arm64" ? "arm64" : "amd64";
  const program = join(import.meta.dirname, `../../dist/sandboxd-linux-${architecture}`);
  if (!existsSync(program)) buildCommandLine();
  const folder = mkdtempSync(join(tmpdir(), "bench-sandboxd-"));
  const token = randomBytes(32).toString("base64url");
  writeFileSync(join(folder, "token"), token, { mode: 0o400 });
  const flags = ["--listen-host", host, "--root-dir", join(folder, "root"), "--socket", join(folder, "socket")];
  const child = spawn(program, ["run", ...flags, "--token-file", join(folder, "token"), "--", "sleep", "infinity"], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  await listening(child);
  return {
    host,
    port,
    token,
    pssMib: () => pssKib(child) / 1024,
    [Symbol.asyncDispose]: async () => {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Proportional set size (PSS): shared pages count in part. */
function pssKib({ pid }: ChildProcess): number {
  const [, kib] = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8")) ?? [];
  return Number(kib);
}

async function listening(child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if (child.exitCode !== null) throw new Error(`Cannot start sandboxd: it exited with code ${child.exitCode}`);
    const isThere = await new Promise((resolve) => {
      const socket = connect(port, host, () => resolve(true)).once("error", () => resolve(false));
      socket.once("connect", () => socket.destroy());
    });
    if (isThere === true) return;
    await sleep(25);
  }
  throw new Error("Cannot start sandboxd: it does not listen after 5 s");
}
