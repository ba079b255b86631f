/**
 * Measures how Sandboxes with the depth Memory are suspended and resumed, beside `runsc checkpoint` and `runsc restore` of the same
 * bundle (`bare.ts`). The box is a separate process, as it is released; the client is this process and uses HTTPS, a watch and the
 * router. The program is a web server that holds memory of a given size and counts requests, so that a lost memory shows
 * (`program.ts`). Every round measures all variants in turn.
 *
 * - `suspend_memory_ratio_*`: from the change of `operatingMode` until the watch shows the Sandbox suspended with saved memory, divided
 *   by `runsc checkpoint` until its files are on the disk; the median of all rounds.
 * - `resume_ready_ratio_*`: from the change of `operatingMode` until the watch shows the Sandbox Ready, divided by `runsc restore --detach`
 *   until it exits. Both begin when nothing is left of the sandbox that was saved.
 * - `resume_at_once_ratio_*`: the same for a Sandbox that is resumed when the watch shows it suspended. It also waits until the node has
 *   removed the Pod before, which `runsc restore` does not.
 * - `resume_request_ratio_*`: from a request to a Sandbox that sleeps because it was idle until its answer, divided by `runsc restore`
 *   until the answer of a request that is sent when it exits.
 *   Both wake Sandboxes within ten minutes of their suspension, so the node does not read the images to verify them. Later it does, which
 *   takes 0.1 ms for each mebibyte, partly while the Pod is prepared.
 * - `image_bytes_ratio_*`: the bytes of the image, divided by the anonymous memory of the sandbox's processes and its memory filesystems,
 *   as gVisor counts them.
 * - `snapshot_pause_ms`: for how long a Sandbox of 16 MiB stands still while a snapshot of it is taken, as its status reports.
 * - `fork_first_exec_ratio`: from the creation of a Sandbox of 16 MiB that starts from a snapshot until a command has run in it, divided by
 *   `runsc restore --detach` until it exits.
 * - `forks_100_all_ready_ms`: from the creation of a hundred Sandboxes of 64 MiB that start from one snapshot until the last is Ready.
 * - `connection_survival_wrong_bytes`: bytes lost, doubled or changed on fifty connections through the router over
 *   `connection_survival_cycles` suspensions.
 * - `suspend_*`, `resume_*`, `request_*`, `bare_*`: the times themselves.
 *
 * `BENCH_SIZES` sets the sizes in MiB and the rounds for each, `BENCH_FORK_ROUNDS` and `BENCH_FORKS` the numbers of forks,
 * `BENCH_CYCLES` the number of suspensions with connections. `bench/state/sharing.ts` measures the memory of several sandboxes that
 * were restored from one image.
 */
import { NodeBox } from "../node/box.ts";
import { type Figures, formatTable, median, percentile, ratioOf, writeResults } from "../report.ts";
import { BareHost, type BareSandbox, imageBytes, type RestoreTimes } from "./bare.ts";
import { StateBox } from "./box.ts";
import { measureConnections } from "./connections.ts";
import { measureForks, measureManyForks } from "./forks.ts";

interface Size {
  readonly memoryMib: number;
  readonly rounds: number;
}

const sizes = (process.env["BENCH_SIZES"] ?? "16:10 256:4 1024:2").split(" ").map((text): Size => {
  const [memoryMib = Number.NaN, rounds = Number.NaN] = text.split(":").map(Number);
  return { memoryMib, rounds };
});
const warmUps = 1;
/** The shortest that the API allows. */
const idleSeconds = 10;

/** Values by the name of the figure, one for each round. */
type Samples = Record<string, number[]>;

async function bareRound(host: BareHost, sandbox: BareSandbox): Promise<RestoreTimes & { checkpointMs: number }> {
  const image = host.imageFolder("bare");
  const checkpointMs = await sandbox.checkpoint(image);
  return { checkpointMs, ...(await sandbox.restore(image)) };
}

async function bytesRatioOf(host: BareHost, sandbox: BareSandbox): Promise<number> {
  const { Anonymous = Number.NaN, Tmpfs = Number.NaN } = await sandbox.memoryUsage();
  const image = host.imageFolder("bare");
  await sandbox.checkpoint(image, "--leave-running");
  return imageBytes(image) / (Anonymous + Tmpfs);
}

class Measurement {
  readonly samples: Samples = {};
  readonly #box: StateBox;
  readonly #host: BareHost;
  readonly #size: Size;

  constructor(box: StateBox, host: BareHost, size: Size) {
    this.#box = box;
    this.#host = host;
    this.#size = size;
  }

  async run(): Promise<Figures> {
    const { memoryMib } = this.#size;
    const bare = await this.#host.sandbox({ memoryMib });
    await bare.start();
    const bytesRatio = await bytesRatioOf(this.#host, bare);
    await this.#measureModes(bare);
    await this.#measureRequests(bare);
    await bare.remove();
    return { [`image_bytes_ratio_${memoryMib}mib`]: bytesRatio, ...this.#figures() };
  }

  /** Suspends and resumes one Sandbox with its `operatingMode`. */
  async #measureModes(bare: BareSandbox): Promise<void> {
    const name = `mode-${this.#size.memoryMib}`;
    await this.#box.create(name, this.#size.memoryMib);
    await this.#rounds(async () => {
      const { checkpointMs, restoreMs } = await bareRound(this.#host, bare);
      const suspend = await this.#box.suspendAndRelease(name);
      const resume = await this.#box.resume(name);
      await this.#box.suspend(name);
      const atOnce = await this.#box.resume(name);
      return { suspend, resume, resume_at_once: atOnce, bare_checkpoint: checkpointMs, bare_restore: restoreMs };
    });
    if ((await this.#box.request(name)) === 1) throw new Error("Cannot measure: the server has lost its memory");
    await this.#box.delete(name);
  }

  /** Wakes Sandboxes with a request each. All fall asleep at the same time, which is not measured. */
  async #measureRequests(bare: BareSandbox): Promise<void> {
    const { memoryMib, rounds } = this.#size;
    const names = Array.from({ length: rounds + warmUps }, (_, index) => `idle-${memoryMib}-${index}`);
    for (const name of names) await this.#box.create(name, memoryMib, idleSeconds);
    await Promise.all(names.map((name) => this.#box.asleep(name)));
    await this.#rounds(async (round) => {
      const { answerMs } = await bareRound(this.#host, bare);
      const started = performance.now();
      const count = await this.#box.request(names[round] ?? "");
      const request = performance.now() - started;
      if (count === 1) throw new Error("Cannot measure: the server has lost its memory");
      return { request, bare_answer: answerMs };
    });
    await Promise.all(names.map((name) => this.#box.delete(name)));
  }

  async #rounds(measure: (round: number) => Promise<Record<string, number>>): Promise<void> {
    for (let round = 0; round < this.#size.rounds + warmUps; round += 1) {
      const taken = await measure(round);
      if (round < warmUps) continue;
      for (const [name, value] of Object.entries(taken)) (this.samples[name] ??= []).push(value);
    }
  }

  #figures(): Figures {
    const size = `${this.#size.memoryMib}mib`;
    const of = (name: string): number[] => this.samples[name] ?? [];
    const figures: Record<string, number> = {
      [`rounds_${size}`]: this.#size.rounds,
      [`suspend_memory_ratio_${size}`]: ratioOf(of("suspend"), of("bare_checkpoint")).median,
      [`resume_ready_ratio_${size}`]: ratioOf(of("resume"), of("bare_restore")).median,
      [`resume_at_once_ratio_${size}`]: ratioOf(of("resume_at_once"), of("bare_restore")).median,
      [`resume_request_ratio_${size}`]: ratioOf(of("request"), of("bare_answer")).median,
    };
    for (const [name, values] of Object.entries(this.samples)) {
      figures[`${name}_${size}_p50_ms`] = median(values);
      figures[`${name}_${size}_p90_ms`] = percentile(values, 0.9);
    }
    return figures;
  }
}

await using node = await NodeBox.start();
await using box = new StateBox(node);
await using host = await BareHost.open(node);
const figures: Record<string, number> = {};
for (const size of sizes) Object.assign(figures, await new Measurement(box, host, size).run());
Object.assign(figures, await measureForks({ node, box, host }), await measureManyForks(box));
Object.assign(figures, await measureConnections(box));
const rows = Object.entries(figures).map(([name, value]) => [name, Number(value.toPrecision(4))]);
console.log(`${formatTable(["figure", "value"], rows)}\n\n${writeResults("state", figures)}`);
