/**
 * Measures the SDKs against one box, which is a separate process as it is released. `ts`, `go`, `python` and `reference` (the published
 * Python client, version 1.0.8, in its direct mode) take turns in each round.
 *
 * - `ttfi_<sdk>_*`: from the call that claims a member of a warm pool until the output of `echo` is there; `ready_<sdk>_*`: until the
 *   sandbox could be used. The pool is full again before the next round.
 * - `create_cold_*`: from an image under gVisor, with the TypeScript SDK.
 * - `exec_<sdk>_*`: runs `true`, beside a local `spawn` of the same program (`spawn_*`); `exec_<sdk>_over_spawn_p50_ms` is the difference.
 *   `noop_p50_ms` is a call of the same service that starts no process, and `fork_gvisor_p50_ms` a fork and exec of `true` by a program
 *   in the sandbox: what is left of `exec_ts` belongs to the runtime daemon.
 * - `parallel_<sdk>_per_s`: 1,000 commands at once, `parallel_<sdk>_failures` of which failed.
 * - `upload_<sdk>_ratio`, `download_<sdk>_ratio`: bytes per second of a 64 MiB file, divided by those of `node:http` to the same route.
 * - `import_<sdk>_*`: the import of the Python package in a new interpreter, without the start of the interpreter.
 *
 * `BENCH_ROUNDS` sets the number of rounds. An SDK whose tools are missing on this machine is left out, and the reason is printed.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "@agent-sandbox/sdk";
import { formatTable, median, percentile, ratioOf, writeResults } from "../report.ts";
import { PoolBox } from "./box.ts";
import type { Contender } from "./contender.ts";
import { importMs, openContenders } from "./contenders.ts";
import { plainDownload, plainUpload } from "./plain-http.ts";
import { contentOf, timed } from "./typescript.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 30);
const parallel = 1000;
const fileBytes = 64 * 1024 * 1024;
const transferRounds = 5;

const samples = new Map<string, number[]>();
const figures: Record<string, number> = { rounds };

function add(name: string, value: number): void {
  const values = samples.get(name);
  if (values === undefined) samples.set(name, [value]);
  else values.push(value);
}

function medianOf(name: string): number {
  return median(samples.get(name) ?? []);
}

/** Every contender once, from another one on in each round, so that none always runs after the same neighbour. */
async function takeTurns(count: number, turns: readonly (() => Promise<void>)[]): Promise<void> {
  for (let round = 0; round < count; round += 1) {
    for (let turn = 0; turn < turns.length; turn += 1) await turns[(round + turn) % turns.length]?.();
  }
}

async function spawnTrue(): Promise<void> {
  await once(spawn("true", { stdio: "pipe" }), "close");
}

await using box = await PoolBox.start();
await using owned = new AsyncDisposableStack();
const contenders: ReadonlyMap<string, Contender> = await openContenders(box, owned);
const each = (turn: (sdk: string, contender: Contender) => Promise<void>): (() => Promise<void>)[] =>
  [...contenders].map(
    ([sdk, contender]) =>
      () =>
        turn(sdk, contender),
  );

const first = each(async (sdk, contender) => {
  await box.fullPool();
  const { ms, ready_ms = Number.NaN } = await contender.measure({ do: "first" });
  add(`ttfi_${sdk}`, ms);
  add(`ready_${sdk}`, ready_ms);
});
// Connections and caches of the clients are filled once; the box has served others before.
await takeTurns(1, first);
samples.clear();
await takeTurns(rounds, first);

using client = await connect({ dataDir: box.dataDir });
for (let round = 0; round < Math.ceil(rounds / 3); round += 1) {
  const started = performance.now();
  const sandbox = await client.create({ image: "host", runtimeClass: "gvisor" });
  add("create_cold", performance.now() - started);
  await sandbox.delete();
}

await using sandbox = await client.create({ pool: box.pool });
for (const contender of contenders.values()) {
  await contender.measure({ do: "open", sandbox: sandbox.claimName ?? "" });
  for (let warmUp = 0; warmUp < 20; warmUp += 1) await contender.measure({ do: "exec" });
}
await takeTurns(rounds * 3, [
  ...each(async (sdk, contender) => add(`exec_${sdk}`, (await contender.measure({ do: "exec" })).ms)),
  async () => add("spawn", (await timed(spawnTrue)).ms),
  async () => add("noop", (await timed(() => sandbox.commands.list())).ms),
]);
const forks = "for (1..20) { my $t = time; system('true'); printf '%f ', (time - $t) * 1000 }";
const { stdout } = await sandbox.commands.run(["perl", "-MTime::HiRes=time", "-e", forks]);
for (const ms of stdout.trim().split(" ")) add("fork_gvisor", Number(ms));

for (const [sdk, contender] of contenders) {
  if (sdk === "reference") continue;
  const { ms, failures = Number.NaN } = await contender.measure({ do: "parallel", count: parallel });
  figures[`parallel_${sdk}_per_s`] = parallel / (ms / 1000);
  figures[`parallel_${sdk}_failures`] = failures;
}

const content = contentOf(fileBytes);
const plain = await box.plain(sandbox.name);
await takeTurns(transferRounds, [
  ...each(async (sdk, contender) => {
    add(`upload_${sdk}`, (await contender.measure({ do: "write", path: `${sdk}.bin`, bytes: fileBytes })).ms);
    add(`download_${sdk}`, (await contender.measure({ do: "read", path: `${sdk}.bin`, bytes: fileBytes })).ms);
  }),
  async () => {
    add("upload_plain", (await timed(() => plainUpload(plain, "plain.bin", content))).ms);
    add("download_plain", (await timed(() => plainDownload(plain, "plain.bin"))).ms);
  },
]);

for (const sdk of ["python", "reference"] as const) {
  if (!contenders.has(sdk)) continue;
  for (let round = 0; round < transferRounds; round += 1) add(`import_${sdk}`, await importMs(sdk));
}

for (const [name, values] of samples) {
  if (/^(up|down)load_/.test(name)) continue;
  figures[`${name}_p50_ms`] = median(values);
  figures[`${name}_p90_ms`] = percentile(values, 0.9);
}
for (const sdk of contenders.keys()) {
  figures[`exec_${sdk}_over_spawn_p50_ms`] = medianOf(`exec_${sdk}`) - medianOf("spawn");
  for (const way of ["upload", "download"]) {
    // Times, so the plain transfer is the numerator.
    const [ours, theirs] = [samples.get(`${way}_${sdk}`) ?? [], samples.get(`${way}_plain`) ?? []];
    figures[`${way}_${sdk}_ratio`] = ratioOf(theirs, ours).median;
  }
}
figures["upload_plain_mib_per_s"] = fileBytes / 1024 / 1024 / (medianOf("upload_plain") / 1000);
figures["download_plain_mib_per_s"] = fileBytes / 1024 / 1024 / (medianOf("download_plain") / 1000);
const rows = Object.entries(figures).map(([name, value]) => [name, Number(value.toPrecision(4))]);
console.log(`${formatTable(["figure", "value"], rows)}\n\n${writeResults("sdk", figures)}`);
