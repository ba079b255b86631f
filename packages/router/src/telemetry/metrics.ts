import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { RouterReason } from "../router-error.ts";
import type { AccessRecord } from "./access-record.ts";

const knownMethods: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
  "CONNECT",
  "TRACE",
]);

/** Clients choose the method, so unknown ones share a label. */
function methodLabel(method: string): string {
  return knownMethods.has(method) ? method : "other";
}

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180];

/** The `reason` label of upstream errors. */
const upstreamReasons: Partial<Record<RouterReason, string>> = {
  Refused: "dial",
  Unreachable: "dial",
  Unverified: "dial",
  Timeout: "timeout",
  BadUpstream: "eof",
};

export interface BuildInfo {
  readonly version: string;
  readonly commit: string;
}

interface Series {
  readonly inc: () => void;
  readonly observe: (value: number) => void;
}

/** The router's metrics. The number of label values is bounded: only namespaces with an existing Sandbox, no sandbox names. */
export class Metrics {
  readonly registry: Registry = new Registry();
  readonly #requests = this.#counter("requests_total", "Number of requests that have ended.", [
    "method",
    "code",
    "sandbox_namespace",
  ]);
  readonly #duration = new Histogram({
    name: "sandbox_router_request_duration_seconds",
    help: "Time from the start of a request to the end of its response.",
    labelNames: ["method", "code", "sandbox_namespace"],
    buckets: seconds,
    registers: [this.registry],
  });
  readonly #inflight: Gauge = new Gauge({
    name: "sandbox_router_inflight_requests",
    help: "Number of requests in progress.",
    registers: [this.registry],
    collect: () => this.#inflight.set(this.#inProgress),
  });
  #inProgress = 0;
  readonly #errors = this.#counter("upstream_errors_total", "Number of requests that failed on the way to a sandbox.", [
    "sandbox_namespace",
    "reason",
  ]);
  readonly #retries = this.#counter("upstream_retries_total", "Number of retried connections to sandboxes.", [
    "sandbox_namespace",
  ]);
  readonly #stale = this.#counter(
    "cache_invalidations_total",
    "Number of pod addresses that belonged to another pod when a connection was opened.",
    ["sandbox_namespace"],
  );
  readonly #decisions = this.#counter("authz_decisions_total", "Number of authorization decisions.", [
    "sandbox_namespace",
    "decision",
  ]);
  readonly #reloads = this.#counter("cert_reloads_total", "Number of certificate reloads.", ["outcome"]);
  readonly #wakes = this.#counter("wakes_total", "Number of sandboxes woken by traffic.", ["sandbox_namespace"]);
  readonly #routes = this.#counter("routes_total", "Number of requests by how they named the sandbox.", ["by"]);
  readonly #series = new Map<string, Series>();
  readonly #counts = new Map<string, () => void>();

  constructor({ version, commit }: BuildInfo) {
    const labels = {
      git_version: version,
      git_commit: commit,
      build_date: "",
      go_version: "",
      compiler: "node",
      platform: process.platform,
    };
    const info = new Gauge({
      name: "sandbox_router_build_info",
      help: "Version of the router.",
      labelNames: Object.keys(labels),
      registers: [this.registry],
    });
    info.set(labels, 1);
    for (const outcome of ["success", "failure"]) this.#reloads.inc({ outcome }, 0);
  }

  begin(): void {
    this.#inProgress += 1;
  }

  finish(record: AccessRecord, durationSeconds: number): void {
    this.#inProgress -= 1;
    const series = this.#seriesOf(record);
    series.inc();
    series.observe(durationSeconds);
    const reason = upstreamReasons[record.reason as RouterReason];
    if (reason !== undefined) this.#errors.inc({ sandbox_namespace: record.namespace, reason });
    if (record.by !== undefined) this.#count(this.#routes, record.by);
  }

  /** `count` is called when the metrics are collected. */
  waitingFrom(count: () => number): void {
    this.#gauge("waiting_requests", "Number of requests that wait for a sandbox to become ready.", count);
  }

  /** `count` is called when the metrics are collected. */
  sleepingFrom(count: () => number): void {
    this.#gauge("sleeping_connections", "Number of open connections to sandboxes that are asleep.", count);
  }

  retried(namespace: string, isStale: boolean): void {
    (isStale ? this.#stale : this.#retries).inc({ sandbox_namespace: namespace });
  }

  decided(namespace: string, decision: "allow" | "deny"): void {
    this.#count(this.#decisions, namespace, decision);
  }

  reloaded(outcome: "success" | "failure"): void {
    this.#reloads.inc({ outcome });
  }

  woke(namespace: string): void {
    this.#wakes.inc({ sandbox_namespace: namespace });
  }

  /** Caches the series, because finding one by its labels costs more than incrementing it. */
  #seriesOf({ method, status, namespace }: AccessRecord): Series {
    const label = methodLabel(method);
    const key = `${label} ${status} ${namespace}`;
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    const requests = this.#requests.labels(label, String(status), namespace);
    const duration = this.#duration.labels(label, String(status), namespace);
    const made = { inc: () => requests.inc(), observe: (value: number) => duration.observe(value) };
    this.#series.set(key, made);
    return made;
  }

  #count(counter: Counter, ...values: string[]): void {
    const key = values.join(" ");
    const known = this.#counts.get(key);
    if (known !== undefined) return known();
    const child = counter.labels(...values);
    this.#counts.set(key, () => child.inc());
    child.inc();
  }

  #gauge(name: string, help: string, count: () => number): void {
    const gauge: Gauge = new Gauge({
      name: `sandbox_router_${name}`,
      help,
      registers: [this.registry],
      collect: () => gauge.set(count()),
    });
  }

  #counter(name: string, help: string, labelNames: string[]): Counter {
    return new Counter({ name: `sandbox_router_${name}`, help, labelNames, registers: [this.registry] });
  }
}
