/**
 * Measures commands of `agent-sandbox` beside kubectl on the same box, and beside the OCI runtimes alone (`../node/bare.ts`). Every
 * command is a new process, as in a terminal; its time is that from `spawn` until it has ended. All variants take turns in each round.
 *
 * - `cli_get_ratio_to_kubectl`: `agent-sandbox get sandboxes` divided by `kubectl get sandboxes`, the median of all rounds. At most 1.5.
 * - `cli_run_over_runc_ms`: `agent-sandbox run --rm --runtime runc -- true` minus `runc run` of `true`, the median. At most 150.
 * - `cli_run_over_runsc_ms`: the same under gVisor. It has no target.
 * - `cli_exec_ratio_to_kubectl`: `exec` of `true` in a sandbox that runs under runc.
 * - `<variant>_p50_ms`, `_p90_ms`: the times themselves.
 *
 * `BENCH_ROUNDS` sets the number of rounds. Without kubectl its variants are left out.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { layoutOf } from "../../packages/node/src/layout.ts";
import { BareRuntimes } from "../node/bare.ts";
import { NodeBox, type RuntimeName } from "../node/box.ts";
import { formatTable, median, percentile, ratioOf, writeResults } from "../report.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 30);
const warmUps = 3;
const program = join(import.meta.dirname, "../../dist/agent-sandbox");
const idle = ["sleep", "infinity"];

type Samples = Map<string, number[]>;
type Arm = readonly [name: string, measure: () => Promise<number>];

await using box = await NodeBox.start();
const podsDir = layoutOf(box.dataDir).podsDir;
// Both programs keep caches in the home folder. They are filled by the first rounds.
const home = mkdtempSync(join(tmpdir(), "bench-cli-"));
const env = { ...process.env, HOME: home, XDG_CACHE_HOME: "", KUBECONFIG: join(box.dataDir, "kubeconfig") };

/** Runs a program until it has ended. Returns the time. */
async function timed(file: string, ...words: string[]): Promise<number> {
  const started = performance.now();
  const child = spawn(file, words, { stdio: "ignore", env });
  const [code] = (await once(child, "exit")) as [number | null];
  const taken = performance.now() - started;
  if (code !== 0) throw new Error(`Cannot measure: ${file} ${words.join(" ")} gave ${code}`);
  return taken;
}

const cli = (...words: string[]): Promise<number> => timed(program, "--data-dir", box.dataDir, ...words);

/** Waits until only this many Pods are on the machine, so that the end of one does not disturb the next measurement. */
async function quiet(pods: number): Promise<void> {
  while (existsSync(podsDir) && readdirSync(podsDir).length > pods) await sleep(10);
  await sleep(100);
}

await cli("create", "stays", "--runtime", "runc");
// A bundle without a user namespace: its root folder can be mounted again.
const model = await box.create("model", "gvisor", idle);
await box.running("model");
await using bare = await BareRuntimes.open(join(podsDir, model.metadata?.uid ?? ""));
await box.remove(model);
const staying = await bare.start("runc", idle);

async function run(runtime: RuntimeName): Promise<number> {
  const taken = await cli("run", "--rm", "--runtime", runtime, "--", "true");
  await quiet(1);
  return taken;
}

const hasKubectl = spawnSync("kubectl", ["version", "--client"], { stdio: "ignore" }).status === 0;
if (!hasKubectl) console.warn("kubectl is not on the PATH: its figures are left out");
const arms: readonly Arm[] = [
  ["help", () => timed(program, "--help")],
  ["get", () => cli("get", "sandboxes")],
  ["exec", () => cli("exec", "stays", "--", "true")],
  ["bare_exec", () => bare.exec("runc", staying, ["true"])],
  ["run_runc", () => run("runc")],
  ["bare_run_runc", async () => (await bare.run("runc", ["true"])).endMs],
  ["run_gvisor", () => run("gvisor")],
  ["bare_run_gvisor", async () => (await bare.run("gvisor", ["true"])).endMs],
  ...(hasKubectl
    ? ([
        ["kubectl_help", () => timed("kubectl", "--help")],
        ["kubectl_get", () => timed("kubectl", "get", "sandboxes")],
        ["kubectl_exec", () => timed("kubectl", "exec", "stays", "--", "true")],
      ] satisfies Arm[])
    : []),
];

const samples: Samples = new Map(arms.map(([name]) => [name, []]));
for (let round = 0; round < rounds + warmUps; round += 1) {
  for (const [name, measure] of round % 2 === 0 ? arms : arms.toReversed()) {
    const taken = await measure();
    if (round >= warmUps) samples.get(name)?.push(taken);
  }
}
await bare.remove("runc", staying);
rmSync(home, { recursive: true, force: true });

const of = (name: string): readonly number[] => samples.get(name) ?? [];
const difference = (a: string, b: string): number =>
  median(of(a).map((value, round) => value - (of(b)[round] ?? Number.NaN)));
const figures: Record<string, number> = {
  rounds,
  ...(hasKubectl && {
    cli_get_ratio_to_kubectl: ratioOf(of("get"), of("kubectl_get")).median,
    cli_exec_ratio_to_kubectl: ratioOf(of("exec"), of("kubectl_exec")).median,
  }),
  cli_run_over_runc_ms: difference("run_runc", "bare_run_runc"),
  cli_run_over_runsc_ms: difference("run_gvisor", "bare_run_gvisor"),
};
for (const [name, values] of samples) {
  figures[`${name}_p50_ms`] = median(values);
  figures[`${name}_p90_ms`] = percentile(values, 0.9);
}
const rows = Object.entries(figures).map(([name, value]) => [name, Number(value.toPrecision(4))]);
console.log(`${formatTable(["figure", "value"], rows)}\n\n${writeResults("cli", figures)}`);
