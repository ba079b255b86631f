import { type Exposition, labelText } from "@agent-sandbox/api";
import { DurationHistogram } from "./duration-histogram.ts";

/** What tells the requests of one series from those of others, in Kubernetes' words. Empty text stands for "none". */
export interface RequestLabels {
  readonly verb: string;
  readonly dry_run: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly scope: string;
}

/** The requests of one kind: how many, with which answers, and how long they took. */
export class RequestSeries {
  readonly #labels: string;
  readonly #byCode = new Map<number, number>();
  readonly #durations = new DurationHistogram();

  constructor(labels: RequestLabels) {
    this.#labels = labelText({ ...labels, component: "apiserver" });
  }

  answered(code: number, seconds: number): void {
    this.count(code);
    this.#durations.observe(seconds);
  }

  /** For what lasts as long as its client likes: how long says nothing about the server. */
  count(code: number): void {
    this.#byCode.set(code, (this.#byCode.get(code) ?? 0) + 1);
  }

  writeCounts(to: Exposition): void {
    for (const [code, count] of this.#byCode) {
      to.sample("apiserver_request_total", `${this.#labels},code="${code}"`, count);
    }
  }

  writeDurations(to: Exposition): void {
    this.#durations.write(to, "apiserver_request_duration_seconds", this.#labels);
  }
}
