import { type Exposition, labelText } from "@agent-sandbox/api";
import { DurationHistogram } from "./duration-histogram.ts";

/** The labels of a series, as in kube-apiserver. An empty string means "none". */
export interface RequestLabels {
  readonly verb: string;
  readonly dry_run: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly scope: string;
}

/** Counts and durations of the requests with the same labels. */
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

  /** Counts a long-running request, whose duration depends on the client. */
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
