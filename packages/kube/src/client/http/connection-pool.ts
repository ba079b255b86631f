import type { SecureContext } from "node:tls";
import type { Dispatcher } from "undici";

/** Sends requests over reused connections to one server. The pools of undici have this shape. */
export interface ConnectionPool {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean;
  /** Pending requests finish; their connections are closed after that. */
  close(): Promise<void>;
  /** Pending requests fail. */
  destroy(): Promise<void>;
}

export interface PoolSettings {
  readonly origin: string;
  /** The largest number of connections; `null` for no limit. */
  readonly connections: number | null;
  readonly connectTimeoutMs: number;
  readonly serverName: string | undefined;
  readonly insecure: boolean;
  /** Absent for http. */
  readonly secureContext: SecureContext | undefined;
}

/** Long enough for a controller's next write to find an open connection; shorter than the timeouts of servers and load balancers. */
export const keepAliveMs = 30_000;
