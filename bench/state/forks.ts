/** Snapshots of a running Sandbox, and forks of a snapshot. */
import type { NodeBox } from "../node/box.ts";
import { type Figures, median, percentile, ratioOf } from "../report.ts";
import type { BareHost } from "./bare.ts";
import type { StateBox } from "./box.ts";

const many = Number(process.env["BENCH_FORKS"] ?? 100);
const rounds = Number(process.env["BENCH_FORK_ROUNDS"] ?? 8);

interface Parts {
  readonly node: NodeBox;
  readonly box: StateBox;
  readonly host: BareHost;
}

/** Snapshots of a Sandbox of 16 MiB, each with a fork in which a command runs. */
export async function measureForks({ node, box, host }: Parts): Promise<Figures> {
  const memoryMib = 16;
  const bare = await host.sandbox({ memoryMib });
  await bare.start();
  await box.create("source", memoryMib);
  const samples = { pause: [] as number[], exec: [] as number[], bare: [] as number[] };
  for (let round = 0; round <= rounds; round += 1) {
    const image = host.imageFolder("bare");
    await bare.checkpoint(image);
    const { restoreMs } = await bare.restore(image);
    const pauseMs = await box.snapshot(`snapshot-${round}`, "source");
    const started = performance.now();
    await box.fork(`fork-${round}`, `snapshot-${round}`, memoryMib);
    const code = await node.exec(`fork-${round}`, ["true"]);
    const execMs = performance.now() - started;
    if (code !== 0) throw new Error(`Cannot measure: exec in a fork gave ${code}`);
    await box.delete(`fork-${round}`);
    await box.deleteSnapshot(`snapshot-${round}`);
    // The first round is a warm-up.
    if (round === 0) continue;
    samples.pause.push(pauseMs);
    samples.exec.push(execMs);
    samples.bare.push(restoreMs);
  }
  await box.delete("source");
  await bare.remove();
  return {
    snapshot_pause_ms: median(samples.pause),
    snapshot_pause_p90_ms: percentile(samples.pause, 0.9),
    fork_first_exec_ratio: ratioOf(samples.exec, samples.bare).median,
    fork_first_exec_p50_ms: median(samples.exec),
    fork_first_exec_p90_ms: percentile(samples.exec, 0.9),
  };
}

/** Many forks of a Sandbox of 64 MiB at once. */
export async function measureManyForks(box: StateBox): Promise<Figures> {
  const memoryMib = 64;
  await box.create("many", memoryMib);
  await box.snapshot("many", "many");
  const names = Array.from({ length: many }, (_, index) => `many-${index}`);
  const readyMs = await Promise.all(names.map((name) => box.fork(name, "many", memoryMib)));
  await Promise.all(names.map((name) => box.delete(name)));
  await box.deleteSnapshot("many");
  await box.delete("many");
  return { [`forks_${many}_all_ready_ms`]: Math.max(...readyMs), [`forks_${many}_ready_p50_ms`]: median(readyMs) };
}
