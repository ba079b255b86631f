import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { RouterReason } from "../router-error.ts";
import type { Visit } from "./visit.ts";

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

/** A method nobody knows is a label value that a caller chose. */
function methodLabel(method: string): string {
  return knownMethods.has(method) ? method : "other";
}

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180];

/** How a failed way to a sandbox is counted. */
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

/** The router's series. Label values are bounded: namespaces only once a Sandbox in them was reached, no sandbox names. */
export class Metrics {
  readonly registry: Registry = new Registry();
  readonly #requests = this.#counter("requests_total", "Requests answered.", ["method", "code", "sandbox_namespace"]);
  readonly #duration = new Histogram({
    name: "sandbox_router_request_duration_seconds",
    help: "Time from the request to the end of its answer.",
    labelNames: ["method", "code", "sandbox_namespace"],
    buckets: seconds,
    registers: [this.registry],
  });
  readonly #inflight: Gauge = new Gauge({
    name: "sandbox_router_inflight_requests",
    help: "Requests under way.",
    registers: [this.registry],
    collect: () => this.#inflight.set(this.#underWay),
  });
  #underWay = 0;
  readonly #errors = this.#counter("upstream_errors_total", "Failed ways to sandboxes.", [
    "sandbox_namespace",
    "reason",
  ]);
  readonly #retries = this.#counter("upstream_retries_total", "Connections tried again.", ["sandbox_namespace"]);
  readonly #stale = this.#counter("cache_invalidations_total", "Addresses that had gone to another.", [
    "sandbox_namespace",
  ]);
  readonly #decisions = this.#counter("authz_decisions_total", "Verdicts.", ["sandbox_namespace", "decision"]);
  readonly #reloads = this.#counter("cert_reloads_total", "Certificates read again.", ["outcome"]);
  readonly #wakes = this.#counter("wakes_total", "Sandboxes resumed by traffic.", ["sandbox_namespace"]);
  readonly #routes = this.#counter("routes_total", "Requests by how they named the sandbox.", ["by"]);
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
      help: "What runs.",
      labelNames: Object.keys(labels),
      registers: [this.registry],
    });
    info.set(labels, 1);
    for (const outcome of ["success", "failure"]) this.#reloads.inc({ outcome }, 0);
  }

  begin(): void {
    this.#underWay += 1;
  }

  finish(visit: Visit, durationSeconds: number): void {
    this.#underWay -= 1;
    const series = this.#seriesOf(visit);
    series.inc();
    series.observe(durationSeconds);
    const reason = upstreamReasons[visit.reason as RouterReason];
    if (reason !== undefined) this.#errors.inc({ sandbox_namespace: visit.namespace, reason });
    if (visit.by !== undefined) this.#count(this.#routes, visit.by);
  }

  /** Read when somebody asks for the metrics. */
  waitingFrom(count: () => number): void {
    const gauge: Gauge = new Gauge({
      name: "sandbox_router_waiting_requests",
      help: "Requests held for a sandbox that is coming up.",
      registers: [this.registry],
      collect: () => gauge.set(count()),
    });
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

  /** Finding a series by its labels costs more than counting in it. */
  #seriesOf({ method, status, namespace }: Visit): Series {
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

  #counter(name: string, help: string, labelNames: string[]): Counter {
    return new Counter({ name: `sandbox_router_${name}`, help, labelNames, registers: [this.registry] });
  }
}
