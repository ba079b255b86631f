import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FuzzClient } from "./fuzz-client.ts";
import { httpCase } from "./http-cases.ts";
import { Random } from "./random.ts";
import { ServerProcess } from "./server-process.ts";
import { socketCase } from "./socket-cases.ts";

export interface FuzzOptions {
  readonly seed: number;
  readonly seconds: number;
  /** The minimum number of cases, sent even after the time is up. Default: 0. */
  readonly atLeast?: number;
  /** Sends only the case with this number. */
  readonly only?: number | undefined;
  /** Called before each case is sent. */
  readonly onCase?: (number: number, what: string) => void;
}

export interface FuzzResult {
  readonly cases: number;
  /** The number of responses by status; 0 for connections without an HTTP response. */
  readonly statuses: ReadonlyMap<number, number>;
  readonly longestTurnMs: number;
  readonly heapGrowthBytes: number;
  readonly failures: readonly string[];
}

/** Concurrent requests. */
const lanes = 8;
/** Cases between two health checks. */
const casesPerLook = 200;
const longestTurnMs = 1000;
/** More than the cases can legitimately leave behind: a few hundred objects and the history of thousands of changes. */
const mostHeapGrowthBytes = 300 * 1024 * 1024;

/** Sends invalid requests until the time is up and returns the failures of the server. */
export async function fuzz(options: FuzzOptions): Promise<FuzzResult> {
  const folder = mkdtempSync(join(tmpdir(), "apiserver-fuzz-"));
  try {
    await using server = await ServerProcess.start(join(folder, "data"));
    using client = new FuzzClient(server.address);
    return await new FuzzRun(server, client, options).run();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

class FuzzRun {
  readonly #server: ServerProcess;
  readonly #client: FuzzClient;
  readonly #options: FuzzOptions;
  readonly #statuses = new Map<number, number>();
  readonly #failures: string[] = [];
  /** The latest cases, to find the cause of a failure. */
  readonly #recent: string[] = [];
  #next = 0;
  #longest = 0;
  #heap = 0;

  constructor(server: ServerProcess, client: FuzzClient, options: FuzzOptions) {
    this.#server = server;
    this.#client = client;
    this.#options = options;
    this.#next = options.only ?? 0;
  }

  async run(): Promise<FuzzResult> {
    const start = (await this.#server.report())?.heapBytes ?? 0;
    const { seconds, atLeast = 0 } = this.#options;
    const deadline = Date.now() + seconds * 1000;
    const isOver = (): boolean => Date.now() >= deadline && this.#next >= atLeast;
    do {
      const last = this.#options.only === undefined ? this.#next + casesPerLook : this.#next + 1;
      await Promise.all(Array.from({ length: lanes }, () => this.#lane(last, isOver)));
      await this.#look();
    } while (!isOver() && this.#failures.length === 0 && this.#options.only === undefined);
    const growth = this.#heap - start;
    if (growth > mostHeapGrowthBytes)
      this.#failures.push(`the server holds ${Math.round(growth / 2 ** 20)} MiB more than at first`);
    return {
      cases: this.#next,
      statuses: this.#statuses,
      longestTurnMs: this.#longest,
      heapGrowthBytes: growth,
      failures: this.#failures,
    };
  }

  async #lane(last: number, isOver: () => boolean): Promise<void> {
    while (this.#next < last && this.#server.ended === undefined && !isOver()) await this.#one(this.#next++);
  }

  async #one(number: number): Promise<void> {
    // Spread the seeds, so that neighbouring cases are independent.
    const random = new Random(this.#options.seed * 0x9e3779b1 + number * 0x85ebca6b);
    const each = random.chance(0.08) ? socketCase(random) : httpCase(random);
    const what = `case ${number}: ${each.kind === "http" ? each.method : "SOCKET"} ${each.path.slice(0, 200)}`;
    this.#recent.push(what);
    if (this.#recent.length > 2 * lanes) this.#recent.shift();
    this.#options.onCase?.(number, what);
    try {
      const status = each.kind === "http" ? await this.#client.send(each) : await this.#client.dial(each);
      this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
      if (status === 500) this.#failures.push(`${what}: answered 500`);
    } catch (error) {
      this.#failures.push(`${what}: ${(error as Error).message}`);
    }
  }

  async #look(): Promise<void> {
    const report = await this.#server.report();
    if (report === undefined)
      this.#failures.push(
        `the server ${this.#server.ended === undefined ? "hangs" : `ended: ${this.#server.ended}`}; lately: ${this.#recent.join("; ")}`,
      );
    else {
      this.#longest = Math.max(this.#longest, report.longestTurnMs);
      this.#heap = report.heapBytes;
      if (report.longestTurnMs > longestTurnMs) {
        this.#failures.push(
          `the server worked ${Math.round(report.longestTurnMs)} ms in one go, in cases ${Math.max(0, this.#next - casesPerLook)} to ${this.#next}`,
        );
      }
      if (!(await this.#client.isHealthy())) this.#failures.push("the server is not healthy");
    }
    this.#failures.push(...this.#server.problems.splice(0));
  }
}
