import type { Exposition } from "@agent-sandbox/api";
import { subresourcesOf } from "../discovery/served-verbs.ts";
import type { ApiRequest, Reply } from "../request/api-request.ts";
import { parsePath, type RequestPath } from "../request/request-path.ts";
import type { Target } from "../request/target.ts";
import type { ServedVersion } from "../resources/definition.ts";
import type { Registry, ServedResource } from "../resources/registry.ts";
import { type RequestLabels, RequestSeries } from "./request-series.ts";
import { isDryRun, type Place, scopeOf, verbOf } from "./request-verb.ts";
import { type OpenWatch, other, ResourceSeries } from "./resource-series.ts";

/** Series of deleted custom resources are kept. Beyond this number, new resources share one series. */
const maxCustomResources = 500;
const maxCustomSeries = 1000;

/** Non-resource paths with a series of their own, which includes the paths below. */
const knownPaths = [
  "/.well-known",
  "/agent-sandbox/backup",
  "/agent-sandbox/metrics",
  "/healthz",
  "/livez",
  "/metrics",
  "/openapi/v2",
  "/openapi/v3",
  "/openid/v1/jwks",
  "/readyz",
  "/version",
];

type Asked = Pick<ApiRequest, "method" | "url" | "headers" | "sourceAddress">;

/** Counts requests and measures their durations. */
export class RequestMetrics {
  readonly #registry: Registry;
  readonly #byVersion = new WeakMap<ServedVersion, ResourceSeries>();
  readonly #byName = new Map<string, ResourceSeries>();
  readonly #byPath = new Map<string, RequestSeries>();
  readonly #series: RequestSeries[] = [];
  readonly #others = new ResourceSeries({ labels: elsewhere, subresources: [], make: () => this.#overflow });
  readonly #overflow = new RequestSeries({ ...nothing, resource: other });
  readonly #inFlight = { mutating: { count: 0 }, readOnly: { count: 0 } };
  readonly #fixedResources: number;
  #customSeries = 0;
  readonly #attempts = { success: 0, failure: 0 };

  /** Resources that are already in the registry are permanent and always have their own series. */
  constructor(registry: Registry) {
    this.#registry = registry;
    for (const served of registry.served()) this.#add(served, (labels) => this.#make(labels));
    this.#fixedResources = this.#byName.size;
  }

  begin(request: Asked): RequestMeasure {
    if (request.sourceAddress !== undefined) this.#attempts.success += 1;
    return new RequestMeasure(this, request, this.#inFlight[request.method === "GET" ? "readOnly" : "mutating"]);
  }

  /** Counts an upgrade request, whether accepted or refused. */
  connected(request: Asked, code: number): void {
    this.#attempts.success += 1;
    this.find(request).count(code);
  }

  /** Counts a request that failed authentication. */
  unauthenticated(): void {
    this.#attempts.failure += 1;
  }

  watch(target: Target): OpenWatch {
    return this.#of(target).watch(target.namespace === undefined ? "cluster" : "namespace");
  }

  /** The series of a request for a served resource. */
  of(target: ServedResource & Place, request: Asked): RequestSeries {
    const dryRun = request.method !== "GET" && isDryRun(request.url);
    return this.#of(target).of(target, { verb: verbOf(request, target), scope: scopeOf(request, target), dryRun });
  }

  /** The series of any request. All requests for unknown resources and paths share one. */
  find(request: Asked): RequestSeries {
    const path = parsePath(request.url.split("?", 1)[0] as string);
    if (path?.kind !== "resource") return this.#ofPath(request.method, pathLabel(path));
    const served = this.#registry.find(path.apiVersion, path.plural);
    return served === undefined ? this.#ofPath(request.method, "") : this.of({ ...path, ...served }, request);
  }

  write(to: Exposition): void {
    to.metric("apiserver_request_total", "counter", "Number of answered requests by verb, resource and code.");
    const all = [...this.#series, this.#overflow];
    for (const series of all) series.writeCounts(to);
    to.metric("apiserver_request_duration_seconds", "histogram", "Duration of requests, without watches and streams.");
    for (const series of all) series.writeDurations(to);
    to.metric("apiserver_current_inflight_requests", "gauge", "Number of requests in progress.");
    for (const [kind, { count }] of Object.entries(this.#inFlight)) {
      to.sample("apiserver_current_inflight_requests", `request_kind="${kind}"`, count);
    }
    const resources = [...this.#byName.values(), this.#others];
    to.metric("apiserver_longrunning_requests", "gauge", "Number of open watches.");
    for (const resource of resources) resource.writeOpen(to);
    to.metric("apiserver_watch_events_total", "counter", "Number of events sent to watches.");
    for (const resource of resources) resource.writeEvents(to);
    to.metric("authentication_attempts", "counter", "Number of authentication attempts over HTTPS by result.");
    for (const [result, count] of Object.entries(this.#attempts)) {
      to.sample("authentication_attempts", `result="${result}"`, count);
    }
  }

  #of({ definition, version }: ServedResource): ResourceSeries {
    let found = this.#byVersion.get(version);
    if (found === undefined) {
      found = this.#named({ definition, version });
      this.#byVersion.set(version, found);
    }
    return found;
  }

  /** Finds the series by name: a changed definition is a new object for the same resource. */
  #named(served: ServedResource): ResourceSeries {
    const { definition, version } = served;
    const known = this.#byName.get(`${version.apiVersion}/${definition.plural}`);
    if (known !== undefined) return known;
    if (this.#byName.size - this.#fixedResources >= maxCustomResources) return this.#others;
    return this.#add(served, (labels) => this.#makeCustom(labels));
  }

  #add(served: ServedResource, make: (labels: RequestLabels) => RequestSeries): ResourceSeries {
    const { definition, version } = served;
    const labels = { group: version.group, version: version.version, resource: definition.plural };
    const subresources = subresourcesOf(served).map(({ name }) => name);
    const made = new ResourceSeries({ labels, subresources, make });
    this.#byName.set(`${version.apiVersion}/${definition.plural}`, made);
    return made;
  }

  #ofPath(method: string, path: string): RequestSeries {
    const key = `${method} ${path}`;
    const known = this.#byPath.get(key) ?? this.#make({ ...nothing, verb: method, subresource: path });
    this.#byPath.set(key, known);
    return known;
  }

  #make(labels: RequestLabels): RequestSeries {
    const series = new RequestSeries(labels);
    this.#series.push(series);
    return series;
  }

  #makeCustom(labels: RequestLabels): RequestSeries {
    if (this.#customSeries >= maxCustomSeries) return this.#overflow;
    this.#customSeries += 1;
    return this.#make(labels);
  }
}

const elsewhere = { group: "", version: "", resource: other };

const nothing: RequestLabels = {
  verb: "",
  dry_run: "",
  group: "",
  version: "",
  resource: "",
  subresource: "",
  scope: "",
};

function pathLabel(path: RequestPath | undefined): string {
  if (path === undefined) return "";
  if (path.kind === "other") return knownPaths.find((known) => `${path.path}/`.startsWith(`${known}/`)) ?? "";
  return path.kind === "core-versions" ? "/api" : "/apis";
}

/** The measurement of one request in progress. */
export class RequestMeasure {
  readonly #metrics: RequestMetrics;
  readonly #request: Asked;
  readonly #inFlight: { count: number };
  readonly #startedAt = performance.now();
  #series: RequestSeries | undefined;

  constructor(metrics: RequestMetrics, request: Asked, inFlight: { count: number }) {
    this.#metrics = metrics;
    this.#request = request;
    this.#inFlight = inFlight;
    inFlight.count += 1;
  }

  /** Records the target, so that most requests need no lookup at their end. */
  found(target: Target): void {
    this.#series = this.#metrics.of(target, this.#request);
  }

  answered({ kind, status }: Reply): void {
    this.#inFlight.count -= 1;
    const series = this.#series ?? this.#metrics.find(this.#request);
    if (kind === "watch" || kind === "stream") series.count(status);
    else series.answered(status, (performance.now() - this.#startedAt) / 1000);
  }
}
