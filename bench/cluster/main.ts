/**
 * Compares two controllers on real Kubernetes: A is the manager of this clone, or BENCH_A; B is BENCH_B, or A again, which shows how much
 * the figures of the same controller differ. Both are folders (see arm.ts). They run in the order A B B A, with a new control plane for
 * each run with fake nodes, and on the same node for Pods of a real one, whose objects are deleted after each run.
 *
 * - `warm_*`, `burst20_*`: claims on Pods of a real node, one per second and 20 at once: from the request that creates the claim to the
 *   event that shows it Ready, as a client sees it.
 * - `writes_per_claim`, `events_per_claim`: from the audit log of the API server, the replacement in the pool included. Renewals of leases
 *   and dry runs do not count.
 * - `cpu_ms_per_claim`, `peak_mib`: of all processes of the controller.
 * - `burst300_*`, `rate<n>_*`, `knee_claims_per_s`, `cold500_*`, `fill1000_ms`, `restart5k_*`: on fake nodes. The knee is the highest tried
 *   rate at which p99 stays below one second.
 *
 * `<figure>_ratio` is the median of A divided by the median of B. `BENCH_ROUNDS` repeats A B B A (default 1), `BENCH_SCALE=0.1` runs a
 * tenth of the load, to test the benchmark, and `BENCH_ONLY=real` or `BENCH_ONLY=fake` runs one part. Needs `make cluster-up` first.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Figures, formatTable, interleave, median, writeResults } from "../report.ts";
import { type Arm, armFrom } from "./arm.ts";
import { measureFake } from "./fake.ts";
import { measureReal } from "./real.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 1);
const only = process.env["BENCH_ONLY"];
const folder = mkdtempSync(join(tmpdir(), "bench-cluster-"));
const a = armFrom("A", process.env["BENCH_A"]);
const b = armFrom("B", process.env["BENCH_B"] ?? process.env["BENCH_A"]);

async function measure(arm: Arm): Promise<Figures> {
  const parts = [...(only === "fake" ? [] : [measureReal]), ...(only === "real" ? [] : [measureFake])];
  const figures: Record<string, number> = {};
  for (const part of parts) Object.assign(figures, await part(arm, folder));
  console.error(`${arm.name}: ${JSON.stringify(figures)}`);
  return figures;
}

const medians = (runs: readonly Figures[]): Figures =>
  Object.fromEntries(
    Object.keys(runs[0] ?? {}).map((name) => [name, median(runs.map((run) => run[name] ?? Number.NaN))]),
  );

try {
  const runs = await interleave(
    2 * rounds,
    () => measure(a),
    () => measure(b),
  );
  const [ofA, ofB] = [medians(runs.a), medians(runs.b)];
  const names = Object.keys(ofA);
  const ratio = (name: string): number => (ofA[name] ?? Number.NaN) / (ofB[name] ?? Number.NaN);
  const short = (value: number | undefined): number => Number((value ?? Number.NaN).toPrecision(4));
  const rows = names.map((name) => [name, short(ofA[name]), short(ofB[name]), short(ratio(name))]);
  console.log(formatTable(["figure", a.name, b.name, "A/B"], rows));
  // A partial run, a smaller scale and a controller from elsewhere are not recorded.
  if (process.env["BENCH_SCALE"] === undefined && only === undefined && process.env["BENCH_A"] === undefined) {
    const ratios = Object.fromEntries(names.map((name) => [`${name}_ratio`, ratio(name)]));
    console.log(`\n${writeResults("cluster", { ...ofA, ...ratios })}`);
  }
} catch (error) {
  console.error(`The end of the controller's log:\n${lastLines(join(folder, "controller.log"))}`);
  throw error;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function lastLines(file: string): string {
  try {
    return readFileSync(file, "utf8").trimEnd().split("\n").slice(-10).join("\n");
  } catch {
    return "(none)";
  }
}
