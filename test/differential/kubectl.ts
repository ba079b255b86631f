import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import type { KubectlStep } from "./case.ts";
import type { Server } from "./servers.ts";

export interface KubectlAnswer {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface KubectlRun {
  readonly binary: string;
  readonly server: Server;
  readonly namespace: string;
  /** Called after the first line is printed, if the step has `until`. */
  readonly meanwhile: () => Promise<void>;
}

const timeoutMs = 60_000;
const watchPatienceMs = 15_000;

/** Runs one command to its end, or until it has printed the given number of lines. */
export async function runKubectl(step: KubectlStep, run: KubectlRun): Promise<KubectlAnswer> {
  const { binary, server, namespace, meanwhile } = run;
  const child = spawn(binary, [`--namespace=${namespace}`, ...step.kubectl], {
    env: {
      PATH: process.env["PATH"],
      HOME: server.home,
      KUBECONFIG: server.kubeconfigs[step.as ?? "admin"],
      // Commands are short. Collecting garbage less often saves a quarter of their processor time.
      GOGC: "800",
      ...step.env,
    },
    stdio: "pipe",
    timeout: timeoutMs,
    killSignal: "SIGKILL",
  });
  const stdin = typeof step.stdin === "object" ? JSON.stringify(step.stdin) : step.stdin;
  // The command may exit without reading its input.
  child.stdin.on("error", () => undefined).end(stdin ?? "");
  const exited = once(child, "close") as Promise<[number | null]>;
  const stdout = new Output(child.stdout);
  const stderr = new Output(child.stderr);
  if (step.until !== undefined) {
    await stdout.reaches(1);
    await meanwhile();
    await stdout.reaches(step.until.lines);
    child.kill("SIGKILL");
  }
  const [code] = await exited;
  return { code, stdout: stdout.text, stderr: stderr.text };
}

class Output {
  text = "";
  readonly #stream: Readable;

  constructor(stream: Readable) {
    this.#stream = stream;
    stream.setEncoding("utf8").on("data", (part: string) => {
      this.text += part;
    });
  }

  /** Waits for this many lines, with a timeout. The comparison shows missing lines. */
  async reaches(lines: number): Promise<void> {
    const signal = AbortSignal.timeout(watchPatienceMs);
    while (this.text.split("\n").length <= lines && !signal.aborted && this.#stream.readable) {
      const more = once(this.#stream, "data", { signal });
      const ended = once(this.#stream, "end", { signal });
      await Promise.race([more, ended]).catch(() => undefined);
      await Promise.allSettled(signal.aborted ? [more, ended] : []);
    }
  }
}
