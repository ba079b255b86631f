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

/** Custom resources come and go, and what was counted stays: beyond so many, all that is new has one name. */
const maxCustomResources = 500;
const maxCustomSeries = 1000;

/** Paths that are no resources and have a series of their own, with all below them. */
const knownPaths = [
  "/.well-known",
  "/agent-sandbox/backup",
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

/** Counts requests and measures how long their answers take. */
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

  /** What the registry has already is there to stay: it always has series of its own. */
  constructor(registry: Registry) {
    this.#registry = registry;
    for (const served of registry.served()) this.#add(served, (labels) => this.#make(labels));
    this.#fixedResources = this.#byName.size;
  }

  begin(request: Asked): RequestMeasure {
    if (request.sourceAddress !== undefined) this.#attempts.success += 1;
    return new RequestMeasure(this, request, this.#inFlight[request.method === "GET" ? "readOnly" : "mutating"]);
  }

  /** A request that turned into a stream both ways, or was refused to. */
  connected(request: Asked, code: number): void {
    this.#attempts.success += 1;
    this.find(request).count(code);
  }

  /** A request that nobody could be found behind. */
  unauthenticated(): void {
    this.#attempts.failure += 1;
  }

  watch(target: Target): OpenWatch {
    return this.#of(target).watch(target.namespace === undefined ? "cluster" : "namespace");
  }

  /** For a request that is known to be about something that is served. */
  of(target: ServedResource & Place, request: Asked): RequestSeries {
    const dryRun = request.method !== "GET" && isDryRun(request.url);
    return this.#of(target).of(target, { verb: verbOf(request, target), scope: scopeOf(request, target), dryRun });
  }

  /** For any request: what names nothing is all one. */
  find(request: Asked): RequestSeries {
    const path = parsePath(request.url.split("?", 1)[0] as string);
    if (path?.kind !== "resource") return this.#ofPath(request.method, pathLabel(path));
    const served = this.#registry.find(path.apiVersion, path.plural);
    return served === undefined ? this.#ofPath(request.method, "") : this.of({ ...path, ...served }, request);
  }

  write(to: Exposition): void {
    to.metric("apiserver_request_total", "counter", "Requests that were answered, by verb, resource and code.");
    const all = [...this.#series, this.#overflow];
    for (const series of all) series.writeCounts(to);
    to.metric("apiserver_request_duration_seconds", "histogram", "How long answers took; watches and streams apart.");
    for (const series of all) series.writeDurations(to);
    to.metric("apiserver_current_inflight_requests", "gauge", "Requests that are being answered now.");
    for (const [kind, { count }] of Object.entries(this.#inFlight)) {
      to.sample("apiserver_current_inflight_requests", `request_kind="${kind}"`, count);
    }
    const resources = [...this.#byName.values(), this.#others];
    to.metric("apiserver_longrunning_requests", "gauge", "Watches that are open now.");
    for (const resource of resources) resource.writeOpen(to);
    to.metric("apiserver_watch_events_total", "counter", "Events that were sent to watches.");
    for (const resource of resources) resource.writeEvents(to);
    to.metric("authentication_attempts", "counter", "Requests over the network, by whether their sender was known.");
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

  /** A definition that changed is another object, and the same resource. */
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

/** One request on its way. */
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

  /** Spares the search at the end, for the requests that most are. */
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
