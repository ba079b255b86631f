/**
 * Measures E2B's published JavaScript client beside our own SDK, against one box, which is a separate process as it is released. Both take
 * turns in each round and use the same pool under gVisor.
 *
 * - `ttfi_<client>_*`: from the call that takes a member of a warm pool until the output of `echo` is there. The pool is full again before
 *   the next round. `compat_over_sdk_ratio` is the median of the quotients of each round.
 * - `cold_<client>_*`: the same from a pool without members.
 * - `exec_<client>_*`: runs `echo` in a sandbox that runs, with the shell that the client uses: E2B's is a login shell.
 * - `upload_<client>_*`, `download_<client>_*`: a file of 64 MiB.
 * - `streams_<client>_*`: 100 commands at once that print ten times in half a second.
 *
 * `BENCH_ROUNDS` sets the number of rounds.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { formatApiKey } from "@agent-sandbox/compat";
import { connect, type Sandbox } from "@agent-sandbox/sdk";
import type { Loose } from "../../test/compat/loose.ts";
import { npmPackages } from "../../test/compat/npm-packages.ts";
import { formatTable, median, percentile, ratioOf, writeResults } from "../report.ts";
import { PoolBox } from "../sdk/box.ts";
import { contentOf, timed } from "../sdk/typescript.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 20);
const coldRounds = 3;
const transferRounds = 3;
const streams = 100;
const fileBytes = 64 * 1024 * 1024;
const ticking = "for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.05; done";

const samples = new Map<string, number[]>();

function add(name: string, ms: number): void {
  samples.set(name, [...(samples.get(name) ?? []), ms]);
}

const valuesOf = (name: string): readonly number[] => samples.get(name) ?? [];

const environment = { SANDBOXD_ROOT_DIR: "/", SANDBOXD_ENSURE_USER: "user" };
await using box = await PoolBox.start({ environment });
using client = await connect({ dataDir: box.dataDir });
const e2bPackage: Loose = (await npmPackages())("e2b");
const { Sandbox: E2b } = e2bPackage;
const { compatUrl } = JSON.parse(readFileSync(join(box.dataDir, "box.json"), "utf8")) as { readonly compatUrl: string };
const token = readFileSync(join(box.dataDir, "admin.token"), "utf8").trim();
const e2bOptions = { apiKey: formatApiKey({ token }), apiUrl: `${compatUrl}/e2b`, sandboxUrl: compatUrl };

/** Takes a sandbox and runs a first command in it, with either client. */
const first = {
  async sdk(pool: string): Promise<() => Promise<unknown>> {
    const sandbox = await client.create({ pool });
    await sandbox.commands.run("echo hello");
    return () => sandbox.delete();
  },
  async e2b(pool: string): Promise<() => Promise<unknown>> {
    const sandbox = await E2b.create(pool, e2bOptions);
    await sandbox.commands.run("echo hello");
    return () => sandbox.kill();
  },
};
const names = ["sdk", "e2b"] as const;

async function measureFirst(figure: string, pool: string, isKept: boolean): Promise<void> {
  // The order changes, so that none always runs after the same neighbour.
  for (const name of valuesOf(`${figure}_sdk`).length % 2 === 0 ? names : names.toReversed()) {
    await box.fullPool();
    const { ms, value: remove } = await timedValue(() => first[name](pool));
    if (isKept) add(`${figure}_${name}`, ms);
    await remove();
  }
}

async function timedValue<T>(work: () => Promise<T>): Promise<{ readonly ms: number; readonly value: T }> {
  const started = performance.now();
  const value = await work();
  return { ms: performance.now() - started, value };
}

// Connections and caches of the clients are filled once.
await measureFirst("ttfi", box.pool, false);
for (let round = 0; round < rounds; round += 1) await measureFirst("ttfi", box.pool, true);
await box.createEmptyPool("cold");
for (let round = 0; round < coldRounds; round += 1) await measureFirst("cold", "cold", true);

await using own: Sandbox = await client.create({ pool: box.pool });
const foreign: Loose = await E2b.create(box.pool, { ...e2bOptions, timeoutMs: 3_600_000 });
const content = contentOf(fileBytes);
const shell = ["/bin/bash", "-l", "-c"];
const work: Readonly<Record<(typeof names)[number], Readonly<Record<string, () => Promise<unknown>>>>> = {
  sdk: {
    exec: () => own.commands.run([...shell, "echo hello"]),
    streams: () => Promise.all(Array.from({ length: streams }, () => own.commands.run([...shell, ticking]))),
    upload: () => own.files.write("/tmp/file.bin", content),
    download: () => own.files.read("/tmp/file.bin"),
  },
  e2b: {
    exec: () => foreign.commands.run("echo hello"),
    streams: () => Promise.all(Array.from({ length: streams }, () => foreign.commands.run(ticking))),
    upload: () => foreign.files.write("/tmp/file.bin", new Blob([content]), { useOctetStream: true }),
    download: () => foreign.files.read("/tmp/file.bin", { format: "bytes" }),
  },
};
for (const [figure, count] of [
  ["exec", rounds * 2],
  ["upload", transferRounds],
  ["download", transferRounds],
  ["streams", 2],
] as const) {
  for (const name of names) await work[name][figure]?.();
  for (let round = 0; round < count; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      add(`${figure}_${name}`, (await timed(async () => void (await work[name][figure]?.()))).ms);
    }
  }
}
await foreign.kill();

const figures: Record<string, number> = { rounds };
for (const [name, values] of samples) {
  figures[`${name}_p50_ms`] = median(values);
  figures[`${name}_p90_ms`] = percentile(values, 0.9);
}
// The figure that the target names.
figures["ttfi_e2b_p50_ms"] = median(valuesOf("ttfi_e2b"));
figures["compat_over_sdk_ratio"] = ratioOf(valuesOf("ttfi_e2b"), valuesOf("ttfi_sdk")).median;
const rows = Object.entries(figures).map(([name, value]) => [name, Number(value.toPrecision(4))]);
console.log(`${formatTable(["figure", "value"], rows)}\n\n${writeResults("compat", figures)}`);
