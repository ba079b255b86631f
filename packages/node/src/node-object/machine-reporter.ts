import { formatMachineReport, type MachineReport, machineReportAnnotation } from "@agent-sandbox/api";
import { type Client, type Logger, type Scheduler, systemScheduler } from "@agent-sandbox/kube";
import type { Examined } from "../doctor/machine-report.ts";
import { nodes } from "../resources.ts";

/** The first Pods after a start need the processor more. */
const firstAfterMs = 2000;
const everyMs = 60_000;
/** The checks start a dozen programs. */
const examineEveryMs = 10 * 60_000;

export interface ReporterOptions {
  readonly client: Client;
  readonly nodeName: string;
  /** The Node exists from then on. */
  readonly registered: Promise<void>;
  readonly examine: () => Promise<Examined>;
  readonly report: (examined: Examined) => Promise<MachineReport>;
  readonly log: Logger;
  readonly now: () => number;
  /** Default: the clock of the system. */
  readonly scheduler?: Scheduler;
}

/**
 * Keeps an annotation of the Node current: what the machine can do, and how full it is. It is for people, so a failure is only logged
 * and tried again a minute later.
 */
export class MachineReporter implements AsyncDisposable {
  readonly #options: ReporterOptions;
  #examined: Examined | undefined;
  #written: string | undefined;
  #timer: Disposable | undefined;
  #stopped = false;
  #round: Promise<void> = Promise.resolve();

  constructor(options: ReporterOptions) {
    this.#options = options;
    options.registered.then(
      () => this.#schedule(firstAfterMs),
      () => undefined,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    this.#timer?.[Symbol.dispose]();
    await this.#round;
  }

  #schedule(afterMs: number): void {
    if (this.#stopped) return;
    const { scheduler = systemScheduler } = this.#options;
    this.#timer = scheduler.schedule(afterMs, () => {
      this.#round = this.#run();
    });
  }

  async #run(): Promise<void> {
    try {
      await this.#write();
    } catch (error) {
      this.#options.log.warn({ error }, "machine not reported");
    }
    this.#schedule(everyMs);
  }

  async #write(): Promise<void> {
    const { client, nodeName, examine, report, now } = this.#options;
    const isDue = this.#examined === undefined || now() - this.#examined.checkedAt >= examineEveryMs;
    if (isDue) this.#examined = await examine();
    if (this.#examined === undefined || this.#stopped) return;
    const text = formatMachineReport(await report(this.#examined));
    if (text === this.#written) return;
    const body = { metadata: { annotations: { [machineReportAnnotation]: text } } };
    await client.patch(nodes, { name: nodeName }, { type: "merge", body });
    this.#written = text;
  }
}
