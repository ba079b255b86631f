import { Transform, type TransformCallback } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import { killedForMemory } from "@agent-sandbox/api";
import { type AttachedProcess, type Exit, lostSandbox, runtimeError } from "./exec-process.ts";

/** 128 + SIGKILL, as for a container that the kernel kills for its memory. */
const killedCode = 137;
const lostLine = Buffer.from(lostSandbox);

/**
 * If a command uses too much memory, the kernel kills the whole gVisor sandbox, and `runsc exec` prints an error about its lost
 * connection and exits with 128. The client gets an explanation instead, with the exit code 137.
 */
export function explainOutOfMemory(
  attached: AttachedProcess,
  { tty, hasRunOutOfMemory }: { readonly tty: boolean; readonly hasRunOutOfMemory: () => Promise<boolean> },
): AttachedProcess {
  const isKilled = attached.ended.then(({ code }) => code === runtimeError && hasRunOutOfMemory());
  const [name, lineEnd] = tty ? (["stdout", "\r\n"] as const) : (["stderr", "\n"] as const);
  const replace = async (line: Buffer): Promise<Buffer> =>
    (await isKilled) ? Buffer.from(`${killedForMemory}${lineEnd}`) : line;
  const output = new LastLine(replace);
  pipeline(attached[name], output).catch(() => undefined);
  const exit = async (): Promise<Exit> => {
    const [own] = await Promise.all([attached.exit, finished(output).catch(() => undefined)]);
    return (await isKilled) ? { code: killedCode } : own;
  };
  const kill = (): void => {
    attached.kill();
    output.destroy();
  };
  return { ...attached, [name]: output, exit: exit(), kill };
}

/** Holds back a line of runsc about a lost sandbox. If it is the last one, `replace` decides what is sent instead. */
class LastLine extends Transform {
  readonly #replace: (line: Buffer) => Promise<Buffer>;
  #held: Buffer = Buffer.alloc(0);

  constructor(replace: (line: Buffer) => Promise<Buffer>) {
    super();
    this.#replace = replace;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const start = bytes.lastIndexOf("\n", bytes.length - 2) + 1;
    const line = bytes.subarray(start);
    const isHeld = line.length < 1024 && line.subarray(0, lostLine.length).equals(lostLine);
    this.#held = isHeld ? line : Buffer.alloc(0);
    done(null, isHeld ? bytes.subarray(0, start) : bytes);
  }

  override _flush(done: TransformCallback): void {
    if (this.#held.length === 0) done();
    else void this.#pushHeld(done);
  }

  async #pushHeld(done: TransformCallback): Promise<void> {
    try {
      this.push(await this.#replace(this.#held));
      done();
    } catch (error) {
      done(error as Error);
    }
  }
}
