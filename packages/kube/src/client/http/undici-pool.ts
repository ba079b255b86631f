// Bundlers turn `import("undici")` into a CommonJS module without named exports; importing this file avoids that.
import { Pool } from "undici";
import { type ConnectionPool, keepAliveMs, type PoolSettings } from "./connection-pool.ts";

export function openUndiciPool(settings: PoolSettings): ConnectionPool {
  const { origin, connections, connectTimeoutMs, serverName, insecure, secureContext } = settings;
  return new Pool(origin, {
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
