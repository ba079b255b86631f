/**
 * Measures whether sandboxes that were restored from one image share memory, and how soon they answer. Run it as root with
 * `node --conditions=source bench/state/sharing.ts`. Names of variants as arguments select some of them. `merging` and
 * `huge-pages` change settings of the machine while they run.
 *
 * The columns are: the number of sandboxes; the median and the slowest time until an answer, all restored at once; the
 * proportional set size of one sandbox, and the part of it that is the application's memory; what the machine has less of in
 * available memory for each sandbox; and the page cache that the image occupies afterwards.
 */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { NodeBox } from "../node/box.ts";
import { formatTable, median } from "../report.ts";
import { BareHost, type BareSandbox } from "./bare.ts";
import { mergeSamePages, useHugePages, waitForMerging } from "./machine-settings.ts";
import { availableMib, changedMib, memoryOf } from "./memory.ts";
import type { ServerMemory } from "./program.ts";

const contentMib = 64;
const inHeap: ServerMemory = { memoryMib: contentMib };
const counts = [1, 4, 16];

interface Variant {
  readonly name: string;
  /** Default: all content is in the heap. */
  readonly memory?: ServerMemory;
  readonly checkpoint?: readonly string[];
  readonly restore?: readonly string[];
  readonly setUp?: () => Disposable;
  /** Runs after the restores, before the memory is measured. */
  readonly settle?: (image: string) => Promise<void>;
}

/** Writes nothing, and asks the kernel to drop the file's clean pages (POSIX_FADV_DONTNEED). */
async function dropPageCache(image: string): Promise<void> {
  execFileSync("dd", [`of=${join(image, "pages.img")}`, "oflag=nocache", "conv=notrunc,fdatasync", "count=0"], {
    stdio: "ignore",
  });
}

const variants: readonly Variant[] = [
  { name: "default" },
  { name: "background", restore: ["--background"] },
  { name: "direct", checkpoint: ["--direct"], restore: ["--direct"] },
  { name: "background-direct", restore: ["--background", "--direct"] },
  { name: "drop-page-cache", settle: dropPageCache },
  { name: "merging", setUp: mergeSamePages, settle: waitForMerging },
  { name: "huge-pages", setUp: useHugePages },
  { name: "mapped-file", memory: { memoryMib: 0, mappedFile: "/data/content" } },
];

type Row = readonly (string | number)[];

async function restoreMany(host: BareHost, variant: Variant, image: string): Promise<Row[]> {
  const { memory = inHeap } = variant;
  const sandboxes = await Promise.all(Array.from({ length: Math.max(...counts) }, () => host.sandbox(memory)));
  const rows: Row[] = [];
  for (const count of counts) {
    const some = sandboxes.slice(0, count);
    rows.push([variant.name, count, ...(await restoreSome(some, variant, image))]);
    await Promise.all(some.map((sandbox) => sandbox.remove()));
  }
  return rows;
}

async function restoreSome(
  sandboxes: readonly BareSandbox[],
  variant: Variant,
  image: string,
): Promise<readonly number[]> {
  const before = availableMib();
  const restored = sandboxes.map((sandbox) => sandbox.restore(image, ...(variant.restore ?? [])));
  const times = (await Promise.all(restored)).map(({ answerMs }) => answerMs);
  await variant.settle?.(image);
  const taken = (before - availableMib()) / sandboxes.length;
  const memory = await Promise.all(sandboxes.map(({ cgroup }) => memoryOf(cgroup)));
  const pss = median(memory.map(({ pssMib }) => pssMib));
  const application = median(memory.map(({ applicationMib }) => applicationMib));
  return [median(times), Math.max(...times), pss, application, taken, cachedMib(image)].map((value) =>
    Number(value.toPrecision(4)),
  );
}

function cachedMib(image: string): number {
  const bytes = execFileSync("fincore", ["--noheadings", "--bytes", "--output", "RES", join(image, "pages.img")]);
  return Number(bytes) / 1024 / 1024;
}

/** How much of its memory a sandbox has changed when it has answered once: what a copy on write would have copied. */
async function changedByOneAnswer(host: BareHost): Promise<number> {
  const image = host.imageFolder("first");
  const sandbox = await host.sandbox(inHeap);
  await sandbox.start();
  await sandbox.checkpoint(image);
  await sandbox.restore(image);
  const later = host.imageFolder("later");
  await sandbox.checkpoint(later);
  return changedMib(later, image);
}

async function measure(host: BareHost, variant: Variant): Promise<Row[]> {
  using _settings = variant.setUp?.();
  const image = host.imageFolder(variant.name);
  const source = await host.sandbox(variant.memory ?? inHeap);
  await source.start();
  await source.checkpoint(image, ...(variant.checkpoint ?? []));
  await source.remove();
  return await restoreMany(host, variant, image);
}

const names = process.argv.slice(2);
await using box = await NodeBox.start();
await using host = await BareHost.open(box);
writeFileSync(join(host.data, "content"), randomBytes(contentMib << 20));
const rows: Row[] = [];
for (const variant of variants) {
  if (names.length > 0 && !names.includes(variant.name)) continue;
  rows.push(...(await measure(host, variant)));
}
const head = ["variant", "count", "answer p50 ms", "slowest ms", "PSS MiB", "application", "taken", "page cache"];
console.log(formatTable(head, rows));
const changed = await changedByOneAnswer(host);
console.log(`\nOne answer changes ${changed.toFixed(1)} MiB of the application's memory.`);
