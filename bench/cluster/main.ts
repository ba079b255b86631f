/**
 * Compares two controllers on real Kubernetes: A is the manager of this clone, or BENCH_A; B is BENCH_B, or A again, which shows how much
 * the figures of the same controller differ. Both are folders (see arm.ts). They run in the order A B B A, with a new control plane for
 * each run with fake nodes, and on the same node for Pods of a real one, whose objects are deleted after each run.
 *
 * - `warm_*`, `burst20_*`: claims on Pods of a real node, one per second and 20 at once: from the request that creates the claim to the
 *   event that shows it Ready, as a client sees it. Of 60 claims in a run, p99 is the slowest one.
 * - `writes_per_claim`, `events_per_claim`: from the audit log of the API server, the replacement in the pool included. Renewals of leases
 *   and dry runs do not count.
 * - `reconciles_per_claim`, `cpu_ms_per_claim`, `peak_mib`: of all processes of the controller.
 * - `burst300_*`, `rate<n>_*`, `knee_claims_per_s`, `cold500_*`, `fill1000_ms`, `restart5k_*`: on fake nodes. The knee is the highest tried
 *   rate at which p99 stays below one second.
 * - `failover_*`: on fake nodes, from a crash of the leader until a claim that was created at that moment is Ready.
 *
 * `<figure>_ratio` is the median of A divided by the median of B; the table also has the lowest and the highest ratio of a pair.
 * `BENCH_PAIRS` is the number of pairs (default 2: A B B A), `BENCH_SCALE=0.1` runs a tenth of the load, to test the benchmark, and
 * `BENCH_ONLY=real`, `fake` or `failover` runs one part. `BENCH_RUNS=<file>` adds the runs to those in the file and reports all of them,
 * so that a long measurement can be made in pieces. Needs `make cluster-up` first.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Figures, formatTable, interleave, median, ratioOf, writeResults } from "../report.ts";
import { type Arm, armFrom } from "./arm.ts";
import { measureFailover } from "./failover.ts";
import { measureFake } from "./fake.ts";
import { measureReal } from "./real.ts";

const parts = { real: measureReal, fake: measureFake, failover: measureFailover } as const;
type Part = keyof typeof parts;
const partNames = Object.keys(parts) as Part[];
/** Figures of all runs, in their order. */
type Runs = Record<Part, { a: Figures[]; b: Figures[] }>;

const {
  BENCH_A: folderA,
  BENCH_B: folderB,
  BENCH_ONLY: only,
  BENCH_PAIRS: pairs = 2,
  BENCH_SCALE: scale,
} = process.env;
const runsFile = process.env["BENCH_RUNS"];
const folder = mkdtempSync(join(tmpdir(), "bench-cluster-"));
const a = armFrom("A", folderA);
const b = armFrom("B", folderB ?? folderA);
const runs: Runs =
  runsFile !== undefined && existsSync(runsFile)
    ? (JSON.parse(readFileSync(runsFile, "utf8")) as Runs)
    : { real: { a: [], b: [] }, fake: { a: [], b: [] }, failover: { a: [], b: [] } };

async function measure(part: Part, arm: Arm): Promise<Figures> {
  const figures = await parts[part](arm, folder);
  console.error(`${part} ${arm.name}: ${JSON.stringify(figures)}`);
  return figures;
}

/** Continues the order A B B A of earlier runs. */
async function measurePairs(part: Part): Promise<void> {
  const [ofA, ofB] = [(): Promise<Figures> => measure(part, a), (): Promise<Figures> => measure(part, b)];
  const startsWithA = runs[part].a.length % 2 === 0;
  const added = await (startsWithA ? interleave(Number(pairs), ofA, ofB) : interleave(Number(pairs), ofB, ofA));
  runs[part].a.push(...(startsWithA ? added.a : added.b));
  runs[part].b.push(...(startsWithA ? added.b : added.a));
}

try {
  for (const part of partNames) if ((only ?? part) === part) await measurePairs(part);
  if (runsFile !== undefined) writeFileSync(runsFile, JSON.stringify(runs));
  report();
} catch (error) {
  console.error(`The end of the controller's log:\n${lastLines(join(folder, "controller.log"))}`);
  throw error;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function report(): void {
  const results: Record<string, number> = {};
  const ratios: Record<string, number> = {};
  const rows: (string | number)[][] = [];
  for (const arms of partNames.map((part) => runs[part])) {
    for (const name of Object.keys(arms.a[0] ?? {})) {
      // A run that does not reach a rate has no figures of it.
      const valuesOf = (of: readonly Figures[]): number[] => of.map((figures) => figures[name] ?? Number.NaN);
      const [medianA, medianB] = [median(valuesOf(arms.a)), median(valuesOf(arms.b))];
      const { low, high } = ratioOf(valuesOf(arms.a), valuesOf(arms.b));
      results[name] = medianA;
      ratios[`${name}_ratio`] = medianA / medianB;
      rows.push([name, ...[medianA, medianB, medianA / medianB, low, high].map(short)]);
    }
  }
  console.log(formatTable(["figure", a.name, b.name, "A/B", "lowest", "highest"], rows));
  const isWhole = partNames.every((part) => runs[part].a.length > 0);
  // A partial run, a smaller scale and a comparison with another controller are not recorded.
  if (isWhole && scale === undefined && folderA === undefined && folderB === undefined) {
    const known = Object.entries({ ...results, ...ratios }).filter(([, value]) => Number.isFinite(value));
    console.log(`\n${writeResults("cluster", Object.fromEntries(known))}`);
  }
}

function short(value: number): number {
  return Number(value.toPrecision(4));
}

function lastLines(file: string): string {
  try {
    return readFileSync(file, "utf8").trimEnd().split("\n").slice(-10).join("\n");
  } catch {
    return "(none)";
  }
}
