/**
 * Measures the dashboard in headless Chromium, with 10, 1,000 and 5,000 Sandboxes. The API server and the dashboard's server run as in a box,
 * in one separate process, over HTTPS and with the store on the disk. There is no node: `server.ts` writes the status of Sandboxes and the
 * figures of their Pods.
 *
 * - `first_list_ms_N`: from opening the login link in a new browser profile until the overview shows all N rows. At most 1,500 for 5,000.
 * - `frame_p95_ms_N`, `frame_max_ms_N`: the time between frames (`requestAnimationFrame`) while 100 objects change in each second. 16.7 is
 *   a frame of a display. p95 at most 32. `_scrolling`: while the list is scrolled as well.
 * - `first_load_bytes`: what the browser loads for the first view, compressed and with headers. At most 200,000.
 * - `heap_mib_M`: the heap after a garbage collection, M minutes after the page was opened. The clock of the page runs faster; in each
 *   five seconds 100 objects change, and 4 Sandboxes and 4 events are replaced by new ones. `heap_growth_ratio`: the last divided by the
 *   first. The record of an hour fills up meanwhile.
 * - `load_average`: of the machine, at the start.
 *
 * `BENCH_ROUNDS` sets the number of first lists, `BENCH_SECONDS` how long frames are recorded, `BENCH_MINUTES` how long the heap is watched.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser } from "playwright-core";
import { buildDashboardPage } from "../../scripts/dashboard-page.ts";
import { openBrowser } from "../../test/e2e/browser/open-browser.ts";
import { formatTable, median, percentile, writeResults } from "../report.ts";
import { ServerProcess } from "./server-process.ts";
import { Watcher } from "./watcher.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 5);
const seconds = Number(process.env["BENCH_SECONDS"] ?? 10);
const minutes = Number(process.env["BENCH_MINUTES"] ?? 60);
const counts = [10, 1000, 5000];
const heapCount = 1000;
const perSecond = 100;
/** The page reads what cannot be watched every five seconds. */
const stepMs = 5000;
const updatesPerStep = 100;
/** The page reads the answers to its requests before the next step. */
const answersMs = 60;

const figures: Record<string, number> = { rounds, load_average: loadavg()[0] ?? Number.NaN };
// Not in /tmp, which is in memory on many machines: writes must reach a disk.
const folder = mkdtempSync(join(tmpdir() === "/tmp" ? "/var/tmp" : tmpdir(), "bench-dashboard-"));
const page = join(folder, "page");

const add = (name: string, value: number): void => {
  figures[name] = value;
  console.log(`${name}: ${Number(value.toPrecision(4))}`);
};

async function measureList(browser: Browser, server: ServerProcess, count: number): Promise<void> {
  const times: number[] = [];
  // The first visit fills the caches of the server.
  for (let round = -1; round < rounds; round += 1) {
    await using watcher = await Watcher.open(browser, await server.login());
    const ms = await watcher.firstListMs(count);
    if (round >= 0) times.push(ms);
    if (round === 0 && count === counts[0]) {
      await watcher.page.waitForLoadState("networkidle").catch(() => undefined);
      add("first_load_bytes", watcher.loadedBytes());
    }
  }
  add(`first_list_ms_${count}`, median(times));
}

async function measureFrames(browser: Browser, server: ServerProcess, count: number): Promise<void> {
  await using watcher = await Watcher.open(browser, await server.login());
  await watcher.firstListMs(count);
  await server.update(perSecond);
  await sleep(2000);
  const record = async (name: string): Promise<void> => {
    const times = await watcher.frames(seconds);
    add(`frame_p95_ms_${count}${name}`, percentile(times, 0.95));
    add(`frame_max_ms_${count}${name}`, Math.max(...times));
  };
  await record("");
  const stop = await watcher.scroll();
  await record("_scrolling");
  await stop();
  await server.update(0);
}

async function measureHeap(browser: Browser, server: ServerProcess): Promise<void> {
  await using watcher = await Watcher.open(browser, await server.login(), { hasClock: true });
  await watcher.firstListMs(heapCount);
  const heaps: number[] = [];
  const between = Math.max(1, Math.round(minutes / 6));
  for (let minute = 1; minute <= minutes; minute += 1) {
    for (let ms = 0; ms < 60_000; ms += stepMs) {
      await server.step(updatesPerStep);
      await watcher.page.clock.fastForward(stepMs);
      await sleep(answersMs);
    }
    if (minute % between !== 0) continue;
    heaps.push((await watcher.heapBytes()) / 1024 / 1024);
    add(`heap_mib_${minute}`, heaps.at(-1) ?? Number.NaN);
  }
  add("heap_growth_ratio", (heaps.at(-1) ?? Number.NaN) / (heaps[0] ?? Number.NaN));
}

try {
  await buildDashboardPage(page);
  const browser = await openBrowser();
  try {
    for (const count of counts) {
      await using server = await ServerProcess.start(join(folder, `list-${count}`), page, count);
      await measureList(browser, server, count);
      await measureFrames(browser, server, count);
    }
    await using server = await ServerProcess.start(join(folder, "heap"), page, heapCount);
    await measureHeap(browser, server);
  } finally {
    await browser.close();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const rows = Object.entries(figures).map(([name, value]) => [name, Number(value.toPrecision(4))]);
console.log(`\n${formatTable(["figure", "value"], rows)}\n\n${writeResults("dashboard", figures)}`);
