/** The address of an API server of either kind, and its administrator's credentials. */
export interface Server {
  readonly url: string;
  /** PEM. */
  readonly authority: string;
  readonly token: string;
}

interface Common {
  readonly server: Server;
  readonly namespace: string;
}

export interface CreateLoad extends Common {
  readonly do: "create";
  readonly clients: number;
  readonly count: number;
  /** Objects are named `<prefix>-<n>`, from 1. */
  readonly prefix: string;
}

export interface GetLoad extends Common {
  readonly do: "get";
  readonly clients: number;
  readonly count: number;
  readonly prefix: string;
  readonly among: number;
}

export interface ListLoad extends Common {
  readonly do: "list";
  readonly clients: number;
  readonly count: number;
  readonly limit: number;
}

export interface WatchLoad extends Common {
  readonly do: "watch";
  readonly prefix: string;
  readonly watchers: number;
  readonly updatesPerSecond: number;
  readonly seconds: number;
}

export type Load = CreateLoad | GetLoad | ListLoad | WatchLoad;

export interface Outcome {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** The fraction of events that did not reach their watcher. */
  readonly missing?: number;
}

export function latencies(ms: readonly number[]): { p50: number; p99: number } {
  const sorted = [...ms].sort((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}
