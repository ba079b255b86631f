/**
 * Measures the TypeScript SDK against a box that is a separate process, as it is released.
 *
 * - `ttfi_ts_*`: from `create({ pool })` with a ready member until the output of `echo` is there. The pool is full again before the
 *   next round.
 * - `create_pool_*`, `create_cold_*`: until the sandbox can be used, from a pool and from an image under gVisor.
 * - `exec_*`: `commands.run(["true"])`, beside a local `spawn` of the same program (`spawn_*`); `exec_over_spawn_p50_ms` is the difference.
 * - `parallel_commands_per_s`: 1,000 commands at once, `parallel_failures` of which failed.
 * - `upload_ratio`, `download_ratio`: bytes per second of a 64 MiB file, divided by those of `node:http` to the same route of the router.
 *
 * `BENCH_ROUNDS` sets the number of rounds.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type SandboxClient } from "@agent-sandbox/sdk";
import { formatTable, interleave, median, percentile, ratioOf, writeResults } from "../report.ts";
import { PoolBox } from "./box.ts";
import { plainDownload, plainUpload } from "./plain-http.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 30);
const parallel = 1000;
const fileBytes = 64 * 1024 * 1024;
const transferPairs = 5;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

async function measureCreate(client: SandboxClient, box: PoolBox): Promise<Record<string, number[]>> {
  const samples = { ttfi_ts: [] as number[], create_pool: [] as number[], create_cold: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    await box.fullPool();
    const started = performance.now();
    const sandbox = await client.create({ pool: box.pool });
    samples.create_pool.push(performance.now() - started);
    const { stdout } = await sandbox.commands.run("echo ready");
    samples.ttfi_ts.push(performance.now() - started);
    if (stdout !== "ready\n") throw new Error(`Cannot measure: echo printed "${stdout}"`);
    await sandbox.delete();
  }
  for (let round = 0; round < Math.ceil(rounds / 3); round += 1) {
    const started = performance.now();
    const sandbox = await client.create({ image: "host", runtimeClass: "gvisor" });
    samples.create_cold.push(performance.now() - started);
    await sandbox.delete();
  }
  return samples;
}

async function spawnTrue(): Promise<void> {
  await once(spawn("true", { stdio: "pipe" }), "close");
}

await using box = await PoolBox.start();
using client = await connect({ dataDir: box.dataDir });
const created = await measureCreate(client, box);
await using sandbox = await client.create({ image: "host" });
for (let warmUp = 0; warmUp < 20; warmUp += 1) await sandbox.commands.run(["true"]);
const { a: exec, b: local } = await interleave(
  rounds * 3,
  () => timed(() => sandbox.commands.run(["true"])),
  () => timed(spawnTrue),
);
let failures = 0;
const parallelMs = await timed(() =>
  Promise.all(
    Array.from({ length: parallel }, (_, index) =>
      sandbox.commands.run(`echo ${index}`, { timeoutMs: 120_000 }).then(
        ({ stdout }) => (failures += stdout === `${index}\n` ? 0 : 1),
        () => (failures += 1),
      ),
    ),
  ),
);
const content = new Uint8Array(fileBytes).map((_, index) => index % 251);
const plain = await box.plain(sandbox.name);
const up = await interleave(
  transferPairs,
  () => timed(() => sandbox.files.write("sdk.bin", content)),
  () => timed(() => plainUpload(plain, "plain.bin", content)),
);
const down = await interleave(
  transferPairs,
  () => timed(() => sandbox.files.read("sdk.bin")),
  () => timed(() => plainDownload(plain, "plain.bin")),
);
const figures: Record<string, number> = { rounds };
for (const [name, values] of Object.entries({ ...created, exec, spawn: local })) {
  figures[`${name}_p50_ms`] = median(values);
  figures[`${name}_p90_ms`] = percentile(values, 0.9);
}
figures["exec_over_spawn_p50_ms"] = median(exec) - median(local);
figures["parallel_commands_per_s"] = parallel / (parallelMs / 1000);
figures["parallel_failures"] = failures;
// Times, so the plain transfer is the numerator.
figures["upload_ratio"] = ratioOf(up.b, up.a).median;
figures["download_ratio"] = ratioOf(down.b, down.a).median;
figures["upload_mib_per_s"] = fileBytes / 1024 / 1024 / (median(up.a) / 1000);
figures["download_mib_per_s"] = fileBytes / 1024 / 1024 / (median(down.a) / 1000);
const rows = Object.entries(figures).map(([name, value]) => [name, Number(value.toPrecision(4))]);
console.log(`${formatTable(["figure", "value"], rows)}\n\n${writeResults("sdk", figures)}`);
