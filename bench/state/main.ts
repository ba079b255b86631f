/**
 * Measures how a sandbox's memory is saved and restored, beside `runsc checkpoint` and `runsc restore` of the same bundle
 * (`bare.ts`). The program in it is a web server that holds memory of a given size and counts requests, so that a lost memory
 * shows (`program.ts`).
 *
 * - `bare_checkpoint_*`: `runsc checkpoint`, until its files are on the disk.
 * - `bare_restore_*`: `runsc restore --detach`, until it exits; `bare_answer_*`: until the answer of a request that is sent then.
 * - `image_bytes_ratio_*`: the bytes of the image on the disk, divided by the anonymous memory of the sandbox's processes and its
 *   memory filesystems, as gVisor counts them before the checkpoint.
 *
 * `BENCH_SIZES` sets the sizes in MiB and the rounds for each. `bench/state/sharing.ts` measures the memory of several sandboxes that
 * were restored from one image.
 */
import { NodeBox } from "../node/box.ts";
import { type Figures, formatTable, median, percentile, writeResults } from "../report.ts";
import { BareHost, type BareSandbox, imageBytes } from "./bare.ts";

interface Size {
  readonly memoryMib: number;
  readonly rounds: number;
}

const sizes = (process.env["BENCH_SIZES"] ?? "16:10 256:5 1024:2").split(" ").map((text): Size => {
  const [memoryMib = Number.NaN, rounds = Number.NaN] = text.split(":").map(Number);
  return { memoryMib, rounds };
});
const warmUps = 1;

/** Values by the name of the figure, one for each round. */
type Samples = Record<string, number[]>;

async function bareRound(host: BareHost, sandbox: BareSandbox): Promise<Record<string, number>> {
  const { Anonymous = Number.NaN, Tmpfs = Number.NaN } = await sandbox.memoryUsage();
  const image = host.imageFolder("bare");
  const checkpointMs = await sandbox.checkpoint(image);
  const bytesRatio = imageBytes(image) / (Anonymous + Tmpfs);
  const { restoreMs, answerMs } = await sandbox.restore(image);
  return { bare_checkpoint: checkpointMs, bare_restore: restoreMs, bare_answer: answerMs, image_bytes: bytesRatio };
}

async function measure(host: BareHost, { memoryMib, rounds }: Size): Promise<Samples> {
  const sandbox = await host.sandbox({ memoryMib });
  await sandbox.start();
  const samples: Samples = {};
  for (let round = 0; round < rounds + warmUps; round += 1) {
    const taken = await bareRound(host, sandbox);
    if (round < warmUps) continue;
    for (const [name, value] of Object.entries(taken)) (samples[name] ??= []).push(value);
  }
  await sandbox.remove();
  return samples;
}

function figuresOf({ memoryMib, rounds }: Size, { image_bytes: bytes = [], ...times }: Samples): Figures {
  const figures: Record<string, number> = {
    [`rounds_${memoryMib}mib`]: rounds,
    [`image_bytes_ratio_${memoryMib}mib`]: median(bytes),
  };
  for (const [name, values] of Object.entries(times)) {
    figures[`${name}_${memoryMib}mib_p50_ms`] = median(values);
    figures[`${name}_${memoryMib}mib_p90_ms`] = percentile(values, 0.9);
  }
  return figures;
}

await using box = await NodeBox.start();
await using host = await BareHost.open(box);
const figures: Record<string, number> = {};
for (const size of sizes) Object.assign(figures, figuresOf(size, await measure(host, size)));
const rows = Object.entries(figures).map(([name, value]) => [name, Number(value.toPrecision(4))]);
console.log(`${formatTable(["figure", "value"], rows)}\n\n${writeResults("state", figures)}`);
