/**
 * Compares Pods of the embedded node with the OCI runtimes alone. The box is a separate process, as it is released; the client is this
 * process and uses HTTPS and a watch. The comparison calls the same runtime on the same bundle (`bare.ts`). Every round measures all
 * variants in turn.
 *
 * - `cold_ratio_*`: from the creation of a Pod until the watch shows it Running, divided by a complete `run` of `true`; the median of
 *   all rounds.
 * - `output_ratio_*`: from the creation of a Pod until the first byte of its log arrives, divided by the same.
 * - `*_running_*_ms`, `*_output_*_ms`: the times themselves; `bare_*_output`: from the start of the runtime to the output of `echo`.
 * - `exec_over_bare_ms`: exec of `true` through the API, on a new connection each time, minus `runc exec`.
 * - `monitor_pss_mib`, `idle_*`: memory of one idle Pod of fifty, compared with the runtime alone; `monitor_alone_pss_mib`: memory of
 *   the monitor of a single Pod, which shares its code with no other monitor.
 * - `pods50_all_running_ms`: from the creation of fifty Pods until the last is Running.
 *
 * `BENCH_ROUNDS` sets the number of rounds.
 */
import { join } from "node:path";
import { layoutOf, podPaths } from "../../packages/node/src/layout.ts";
import { type Figures, formatTable, median, percentile, ratioOf, writeResults } from "../report.ts";
import { BareRuntimes } from "./bare.ts";
import { NodeBox, type RuntimeName } from "./box.ts";
import { type Footprint, footprintOfCgroup, footprintOfMonitors } from "./memory.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 20);
const warmUps = 3;
const runtimes = ["runc", "gvisor"] as const satisfies readonly RuntimeName[];
const many = 50;
const talkative = ["sh", "-c", "echo ready; exec sleep infinity"];
const idle = ["sleep", "infinity"];

/** Milliseconds by variant, one value for each round. */
type Samples = Readonly<Record<string, number[]>>;

async function coldPod(box: NodeBox, runtime: RuntimeName, name: string): Promise<{ running: number; output: number }> {
  const running = box.running(name);
  const started = performance.now();
  const pod = await box.create(name, runtime, talkative);
  const runningAt = await running;
  const outputAt = await box.firstOutput(name);
  await box.remove(pod);
  return { running: runningAt - started, output: outputAt - started };
}

async function execPod(box: NodeBox, name: string): Promise<number> {
  const started = performance.now();
  const code = await box.exec(name, ["true"]);
  if (code !== 0) throw new Error(`Cannot measure: exec gave ${code}`);
  return performance.now() - started;
}

async function oneRound(box: NodeBox, bare: BareRuntimes, stays: { pod: string; bare: string }, round: number) {
  const arms: [string, () => Promise<Record<string, number>>][] = runtimes.flatMap((runtime) => [
    [
      `${runtime} pod`,
      async () => {
        const { running, output } = await coldPod(box, runtime, `cold-${runtime}-${round}`);
        return { [`${runtime}_running`]: running, [`${runtime}_output`]: output };
      },
    ],
    [`${runtime} true`, async () => ({ [`bare_${runtime}_run`]: (await bare.run(runtime, ["true"])).endMs })],
    [
      `${runtime} echo`,
      async () => ({ [`bare_${runtime}_output`]: (await bare.run(runtime, ["echo", "ready"])).outputMs }),
    ],
  ]);
  arms.push(["exec pod", async () => ({ exec: await execPod(box, stays.pod) })]);
  arms.push(["exec bare", async () => ({ bare_exec: await bare.exec("runc", stays.bare, ["true"]) })]);
  if (round % 2 === 1) arms.reverse();
  const taken: Record<string, number> = {};
  for (const [, measure] of arms) Object.assign(taken, await measure());
  return taken;
}

async function measureRounds(box: NodeBox, bare: BareRuntimes, pod: string): Promise<Samples> {
  const stays = { pod, bare: await bare.start("runc", idle) };
  const samples: Record<string, number[]> = {};
  for (let round = 0; round < rounds + warmUps; round += 1) {
    const taken = await oneRound(box, bare, stays, round);
    if (round < warmUps) continue;
    for (const [arm, value] of Object.entries(taken)) (samples[arm] ??= []).push(value);
  }
  await bare.remove("runc", stays.bare);
  return samples;
}

/** Creates fifty Pods at once and measures the memory of each when idle. */
async function measureMany(box: NodeBox, bare: BareRuntimes, runtime: RuntimeName): Promise<Figures> {
  const names = Array.from({ length: many }, (_, at) => `many-${runtime}-${at}`);
  const started = performance.now();
  const running = names.map((name) => box.running(name));
  const created = await Promise.all(names.map((name) => box.create(name, runtime, idle)));
  const taken = (await Promise.all(running)).map((at) => at - started);
  const layout = layoutOf(box.dataDir);
  const uids = created.map(({ metadata }) => metadata?.uid ?? "");
  const pods = await Promise.all(uids.map((uid) => footprintOfCgroup(podPaths(layout, uid).cgroup)));
  const monitors = uids.map(footprintOfMonitors);
  await Promise.all(created.map((pod) => box.remove(pod)));
  const ids: string[] = [];
  for (let at = 0; at < many; at += 1) ids.push(await bare.start(runtime, idle));
  const bares = await Promise.all(ids.map((id) => footprintOfCgroup(bare.cgroupOf(id))));
  for (const id of ids) await bare.remove(runtime, id);
  const suffix = runtime === "runc" ? "" : `_${runtime}`;
  return {
    [`pods50_all_running_ms${suffix}`]: Math.max(...taken),
    [`pods50_running_p50_ms${suffix}`]: median(taken),
    [`pods50_running_p90_ms${suffix}`]: percentile(taken, 0.9),
    [`monitor_pss_mib${suffix}`]: percentile(
      monitors.map(({ pssMib }) => pssMib),
      0.9,
    ),
    ...describe(
      `idle_${runtime}_pod`,
      pods.map((own, at) => plus(own, monitors[at])),
    ),
    ...describe(`idle_${runtime}_bare`, bares),
  };
}

function plus(one: Footprint, other: Footprint = { processes: 0, pssMib: 0 }): Footprint {
  return { processes: one.processes + other.processes, pssMib: one.pssMib + other.pssMib };
}

function describe(name: string, footprints: readonly Footprint[]): Figures {
  return {
    [`${name}_processes`]: median(footprints.map(({ processes }) => processes)),
    [`${name}_pss_mib`]: median(footprints.map(({ pssMib }) => pssMib)),
  };
}

function figuresOf(samples: Samples): Figures {
  const of = (arm: string): number[] => samples[arm] ?? [];
  const figures: Record<string, number> = {
    cold_ratio_runc: ratioOf(of("runc_running"), of("bare_runc_run")).median,
    cold_ratio_runsc: ratioOf(of("gvisor_running"), of("bare_gvisor_run")).median,
    output_ratio_runc: ratioOf(of("runc_output"), of("bare_runc_run")).median,
    output_ratio_runsc: ratioOf(of("gvisor_output"), of("bare_gvisor_run")).median,
    exec_over_bare_ms: median(of("exec").map((value, at) => value - (of("bare_exec")[at] ?? Number.NaN))),
  };
  for (const [arm, values] of Object.entries(samples)) {
    figures[`${arm}_p50_ms`] = median(values);
    figures[`${arm}_p90_ms`] = percentile(values, 0.9);
  }
  return figures;
}

await using box = await NodeBox.start();
const first = await box.create("stays", "runc", idle);
await box.running("stays");
const alone = footprintOfMonitors(first.metadata?.uid ?? "");
// A bundle without a user namespace: its root folder can be mounted again.
const model = await box.create("model", "gvisor", idle);
await box.running("model");
await using bare = await BareRuntimes.open(join(layoutOf(box.dataDir).podsDir, model.metadata?.uid ?? ""));
await box.remove(model);
const samples = await measureRounds(box, bare, "stays");
const figures = {
  ...figuresOf(samples),
  monitor_alone_pss_mib: alone.pssMib,
  ...(await measureMany(box, bare, "runc")),
  ...(await measureMany(box, bare, "gvisor")),
};
console.log(
  "Bare: `runc run` and `runsc run` on the Pod's own bundle (the same layers, overlay, seccomp, capabilities, limits, mounts\n" +
    "and namespaces, the network's empty), the overlay mounted once. Ours: from the API request to the watch's event.\n",
);
const rows = Object.entries(figures).map(([name, value]) => [name, Number(value.toPrecision(4))]);
console.log(`${formatTable(["figure", "value"], rows)}\n\n${writeResults("node", figures)}`);
