import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { type Figures, formatTable, interleave } from "../report.ts";
import type { Arms } from "./arms.ts";

const commands = { true: ["true"], echo: ["echo", "hello"] } as const;
const warmRounds = 50;

/** Runs a command on this machine, from a small process. Returns milliseconds. */
async function runHere({ spawner: { child } }: Arms, words: readonly string[]): Promise<number> {
  const answered = once(child, "message") as Promise<[number]>;
  child.send(words);
  const [took] = await answered;
  return took;
}

/** Runs it in the sandbox as an SDK does, with one request on a kept-alive connection. */
async function runThere(arms: Arms, agent: Agent, words: readonly string[]): Promise<number> {
  const { host, port } = arms.router;
  const body = JSON.stringify({ command: words.join(" ") });
  const headers = { ...arms.headersTo("runner", arms.daemon.port), "content-type": "application/json" };
  const started = performance.now();
  const asked = request({ host, port, method: "POST", path: "/execute", agent, headers });
  asked.end(body);
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of answer) text += String(chunk);
  const took = performance.now() - started;
  if (answer.statusCode !== 200 || (JSON.parse(text) as { exit_code?: number }).exit_code !== 0) {
    throw new Error(`Cannot use the run: status ${answer.statusCode}: ${text}`);
  }
  return took;
}

/** The extra time of a command in a sandbox: the larger of the medians of two commands. */
export async function compareExec(arms: Arms, rounds: number): Promise<Figures> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const figures: Record<string, number> = {};
  const over: number[] = [];
  const rows: (string | number)[][] = [];
  for (const [name, words] of Object.entries(commands)) {
    const measure = (count: number) =>
      interleave(
        count,
        () => runThere(arms, agent, words),
        () => runHere(arms, words),
      );
    await measure(warmRounds);
    const { a: there, b: here } = await measure(rounds);
    const [thereMs, hereMs] = [quantiles(there), quantiles(here)];
    over.push(thereMs.p50 - hereMs.p50);
    figures[`exec_${name}_ms_p50`] = thereMs.p50;
    figures[`exec_${name}_ms_p99`] = thereMs.p99;
    figures[`spawn_${name}_ms_p50`] = hereMs.p50;
    rows.push([name, round(thereMs.p50), round(thereMs.p99), round(hereMs.p50), round(hereMs.p99)]);
  }
  agent.destroy();
  console.log(`${formatTable(["", "sandbox p50 ms", "p99", "here p50 ms", "p99"], rows)}\n`);
  return { ...figures, exec_over_spawn_ms_p50: Math.max(...over) };
}

function quantiles(values: readonly number[]): { readonly p50: number; readonly p99: number } {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

const round = (value: number): number => Math.round(value * 100) / 100;
