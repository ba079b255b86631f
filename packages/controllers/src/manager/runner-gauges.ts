import type { RunnerMetrics } from "@agent-sandbox/kube";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { ControllerName } from "../start-controllers.ts";

const secondsBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const results = ["success", "requeue_after", "error", "terminal"] as const;

/** Metrics of work queues and reconciles, with the names of controller-runtime. */
export class RunnerGauges {
  readonly #depth: Gauge<"name" | "controller">;
  readonly #adds: Counter<"name" | "controller">;
  readonly #retries: Counter<"name" | "controller">;
  readonly #waited: Histogram<"name" | "controller">;
  readonly #passes: Counter<"controller" | "result">;
  readonly #errors: Counter<"controller">;
  readonly #terminal: Counter<"controller">;
  readonly #took: Histogram<"controller">;
  readonly #active: Gauge<"controller">;

  constructor(registry: Registry) {
    const registers = [registry];
    const queue = ["name", "controller"] as const;
    const runner = ["controller"] as const;
    const metric = <L extends string>(name: string, help: string, labelNames: readonly L[]) => ({
      name,
      help,
      labelNames: [...labelNames],
      registers,
    });
    this.#depth = new Gauge(metric("workqueue_depth", "Keys that are ready to be reconciled", queue));
    this.#adds = new Counter(metric("workqueue_adds_total", "Keys added", queue));
    this.#retries = new Counter(metric("workqueue_retries_total", "Keys added again after a failure", queue));
    this.#waited = new Histogram({
      ...metric("workqueue_queue_duration_seconds", "How long keys waited in the queue", queue),
      buckets: secondsBuckets,
    });
    const passes = metric("controller_runtime_reconcile_total", "Reconciles", ["controller", "result"] as const);
    this.#passes = new Counter(passes);
    this.#errors = new Counter(metric("controller_runtime_reconcile_errors_total", "Reconciles that failed", runner));
    this.#terminal = new Counter(
      metric(
        "controller_runtime_terminal_reconcile_errors_total",
        "Reconciles that failed and are not retried",
        runner,
      ),
    );
    this.#took = new Histogram({
      ...metric("controller_runtime_reconcile_time_seconds", "Duration of reconciles", runner),
      buckets: secondsBuckets,
    });
    this.#active = new Gauge(metric("controller_runtime_active_workers", "Reconciles in progress", runner));
  }

  /** The metrics of one runner. Runners of the same name are added up; all series start at zero. */
  of(controller: ControllerName): RunnerMetrics {
    const queue = { name: controller, controller };
    const last = { depth: 0, running: 0 };
    for (const result of results) this.#passes.inc({ controller, result }, 0);
    for (const counter of [this.#adds, this.#retries]) counter.inc(queue, 0);
    for (const counter of [this.#errors, this.#terminal]) counter.inc({ controller }, 0);
    this.#depth.inc(queue, 0);
    this.#active.inc({ controller }, 0);
    return {
      depth: (keys) => {
        this.#depth.inc(queue, keys - last.depth);
        last.depth = keys;
      },
      added: () => this.#adds.inc(queue),
      retried: () => this.#retries.inc(queue),
      taken: (waitedMs) => this.#waited.observe(queue, waitedMs / 1000),
      running: (workers) => {
        this.#active.inc({ controller }, workers - last.running);
        last.running = workers;
      },
      reconciled: (result, tookMs) => {
        this.#passes.inc({ controller, result });
        this.#took.observe({ controller }, tookMs / 1000);
        if (result === "error" || result === "terminal") this.#errors.inc({ controller });
        if (result === "terminal") this.#terminal.inc({ controller });
      },
    };
  }
}
