// Bundlers turn `import("undici")` into a CommonJS module without named exports; importing this file avoids that.
import { RoundRobinPool } from "undici";
import { type ConnectionPool, keepAliveMs, type PoolSettings } from "./connection-pool.ts";

/**
 * Uses idle connections in turn. The few requests of a quiet process, such as the renewals of a lease, then keep open all connections
 * that a burst has opened. Otherwise the next burst would begin with as many TLS handshakes.
 */
export function openUndiciPool(settings: PoolSettings): ConnectionPool {
  const { origin, connections, connectTimeoutMs, serverName, insecure, secureContext } = settings;
  return new RoundRobinPool(origin, {
    allowH2: false,
    keepAliveTimeout: keepAliveMs,
    connections,
    connect: {
      timeout: connectTimeoutMs,
      ...(serverName === undefined ? {} : { servername: serverName }),
      ...(insecure ? { rejectUnauthorized: false } : {}),
      ...(secureContext === undefined ? {} : { secureContext }),
    },
  });
}
