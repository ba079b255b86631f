import { requireMetering } from "@agent-sandbox/api/schema";
import type { ApiServer, ApiServerOptions } from "./api-server.ts";
import { AuditLog } from "./audit/audit-log.ts";
import { reconcileRoles } from "./authorization/reconcile-roles.ts";
import { createNamespaces, createRuntimeClasses } from "./bootstrap.ts";
import { systemClock } from "./clock.ts";
import { EmbeddedApiServer } from "./embedded-api-server.ts";
import { CrossOrigin } from "./http/cross-origin.ts";
import { Interner } from "./interner.ts";
import { silentLogger } from "./logger.ts";
import { defaultNamespacePercent } from "./placement/usage.ts";
import { openMemoryStore, openStore } from "./store/open-store.ts";
import { defaultNamespaceLimits } from "./verbs/namespace-limits.ts";

/** The runtimes of the embedded node. It refuses Pods with a runtime that does not work on the machine. */
const boxRuntimes = ["gvisor", "runc"];

/** Opens the store and starts the server. Fails without changing anything if the data folder is in use or damaged. */
export async function createApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const {
    dataDir,
    nodeName,
    podStreams,
    podSessions,
    routerForward,
    partMetrics = {},
    logger = silentLogger,
    clock = systemClock,
    history,
    bookmarkMs = 60_000,
  } = options;
  requireMetering();
  const interner = new Interner({ freeze: options.freezeObjects ?? false });
  const storeOptions = { clock, logger, interner, ...(history === undefined ? {} : { history }) };
  const store = dataDir === undefined ? openMemoryStore(storeOptions) : openStore(dataDir, storeOptions);
  let server: EmbeddedApiServer | undefined;
  try {
    const audit = await AuditLog.open(options.audit, { logger, clock });
    const access = options.access ?? {};
    const limits = { ...defaultNamespaceLimits(), ...options.limits };
    const parts = {
      store,
      interner,
      dataDir,
      nodeName,
      podStreams,
      podSessions,
      routerForward,
      partMetrics,
      logger,
      clock,
      bookmarkMs,
      access,
      audit,
      limits,
      namespacePercent: { ...defaultNamespacePercent, ...options.namespacePercent },
      shares: options.shares,
      crossOrigin: options.allowedOrigins && new CrossOrigin(options.allowedOrigins),
    };
    server = new EmbeddedApiServer(parts);
    await server.installOwnDefinitions();
    await createNamespaces(server.transport);
    await createRuntimeClasses(server.transport, options.runtimeClasses ?? (nodeName === undefined ? [] : boxRuntimes));
    await reconcileRoles(store, server.transport);
    server.startCollecting();
    return server;
  } catch (error) {
    await (server ?? store).close();
    throw error;
  }
}
