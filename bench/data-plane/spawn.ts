/** Runs a command for each message and answers with the milliseconds it took. The process is small, so that forking is cheap. */
import { spawn } from "node:child_process";
import { once } from "node:events";

console.log(JSON.stringify({ host: "", port: 0 }));
process.on("message", ([program = "", ...words]: readonly string[]) => {
  void run(program, words).then((ms) => process.send?.(ms));
});

/** Collects the output and waits for the exit. */
async function run(program: string, words: readonly string[]): Promise<number> {
  const started = performance.now();
  const child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.resume();
  child.stderr.resume();
  const [code] = (await once(child, "close")) as [number];
  if (code !== 0) throw new Error(`Cannot use the run: ${program} exited with ${code}`);
  return performance.now() - started;
}
