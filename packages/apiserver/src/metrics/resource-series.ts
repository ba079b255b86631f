import { type Exposition, labelText } from "@agent-sandbox/api";
import type { RequestLabels, RequestSeries } from "./request-series.ts";
import { type Place, type RequestScope, type RequestVerb, requestScopes, requestVerbs } from "./request-verb.ts";

/** The label for resources beyond the limit and for unknown ones. */
export const other = "other";

export interface ResourceLabels {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

export interface ResourceSeriesOptions {
  readonly labels: ResourceLabels;
  /** The served subresources. All others share one series. */
  readonly subresources: readonly string[];
  readonly make: (labels: RequestLabels) => RequestSeries;
}

export interface RequestKind {
  readonly verb: RequestVerb;
  readonly scope: RequestScope;
  readonly dryRun: boolean;
}

/** The series of one version of a resource. Lookups do not build strings. */
export class ResourceSeries {
  readonly #labels: ResourceLabels;
  readonly #subresources: ReadonlySet<string>;
  readonly #make: (labels: RequestLabels) => RequestSeries;
  readonly #series = new Map<string, (RequestSeries | undefined)[]>();
  readonly #open: Record<RequestScope, number> = { resource: 0, namespace: 0, cluster: 0 };
  #events = 0;

  constructor({ labels, subresources, make }: ResourceSeriesOptions) {
    this.#labels = labels;
    this.#subresources = new Set(subresources);
    this.#make = make;
  }

  of({ subresource: asked = "" }: Place, { verb, scope, dryRun }: RequestKind): RequestSeries {
    const subresource = asked === "" || this.#subresources.has(asked) ? asked : other;
    let series = this.#series.get(subresource);
    if (series === undefined) {
      series = [];
      this.#series.set(subresource, series);
    }
    const at = (requestVerbs.indexOf(verb) * requestScopes.length + requestScopes.indexOf(scope)) * 2 + Number(dryRun);
    series[at] ??= this.#make({ verb, dry_run: dryRun ? "All" : "", ...this.#labels, subresource, scope });
    return series[at];
  }

  /** Counts a watch until the returned object is disposed of. */
  watch(scope: RequestScope): OpenWatch {
    this.#open[scope] += 1;
    return {
      sent: (count) => {
        this.#events += count;
      },
      [Symbol.dispose]: () => {
        this.#open[scope] -= 1;
      },
    };
  }

  writeOpen(to: Exposition): void {
    for (const scope of requestScopes) {
      const labels = labelText({ verb: "WATCH", ...this.#labels, subresource: "", scope, component: "apiserver" });
      if (this.#open[scope] > 0) to.sample("apiserver_longrunning_requests", labels, this.#open[scope]);
    }
  }

  writeEvents(to: Exposition): void {
    if (this.#events > 0) to.sample("apiserver_watch_events_total", labelText({ ...this.#labels }), this.#events);
  }
}

export interface OpenWatch extends Disposable {
  sent(events: number): void;
}
