import { sandboxClaims, sandboxes } from "@agent-sandbox/api";
import {
  type Client,
  createClient,
  HttpTransport,
  isReason,
  type Logger,
  loadDefault,
  type Resource,
} from "@agent-sandbox/kube";
import type { Tracer } from "@opentelemetry/api";
import type { Values } from "./config/read-config.ts";
import { routerOptionsFrom } from "./config/router-options-from.ts";
import type { RouterOptions } from "./router-options.ts";
import { type Router, startRouter } from "./start-router.ts";

export interface RunRouterOptions {
  /** From `readConfig`. */
  readonly values: Values;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  /** Aborted to stop the router. */
  readonly signal: AbortSignal;
  readonly build: NonNullable<RouterOptions["build"]>;
  /** Used if tracing is enabled. */
  readonly tracer?: Tracer;
}

const syncMs = 60_000;

/** Runs the router against a cluster until it is stopped. Returns the exit code: 0, or 1 after a failure. */
export async function runRouter(options: RunRouterOptions): Promise<0 | 1> {
  const { values, env, log } = options;
  try {
    const { kubeconfig } = values;
    const { access, error } = await loadDefault({ env, ...(kubeconfig === "" ? {} : { path: kubeconfig }) });
    if (access === undefined) throw new Error(error);
    await using stack = new AsyncDisposableStack();
    const transport = stack.adopt(new HttpTransport(access), (opened) => opened.close());
    log.info({ server: access.server }, "router starting");
    await serve(createClient(transport, { fieldManager: "sandbox-router" }), options);
    return 0;
  } catch (error) {
    log.error({ err: error }, "router failed");
    return 1;
  }
}

async function serve(client: Client, { values, log, signal, build, tracer }: RunRouterOptions): Promise<void> {
  const options = routerOptionsFrom(values, { client, log, build, ...(tracer && { tracer }) });
  await using router = await startRouter({ ...options, claims: await claimsAreServed(client, log) });
  const stopped = whenAborted(signal);
  if ((await Promise.race([known(router), stopped])) === "known") {
    const { url, secureAddress, metricsAddress, probesAddress } = router;
    log.info({ url, secureAddress, metricsAddress, probesAddress }, "router started");
    await stopped;
  }
  log.info({}, "router stopping");
}

/**
 * A cluster may serve Sandboxes without SandboxClaims; the router then does not wait for claims. If neither is served yet,
 * or it cannot be found out, the router waits for both.
 */
async function claimsAreServed(client: Client, log: Logger): Promise<boolean> {
  const [coreIsMissing, claimsAreMissing] = await Promise.all([
    isMissing(client, sandboxes),
    isMissing(client, sandboxClaims),
  ]);
  if (coreIsMissing || !claimsAreMissing) return true;
  log.warn({}, "the cluster does not serve SandboxClaims: restart the router after they are installed");
  return false;
}

/** Sends a list request that matches no object. */
async function isMissing(client: Client, resource: Resource): Promise<boolean> {
  try {
    await client.list(resource, { fieldSelector: "metadata.name=-", signal: AbortSignal.timeout(syncMs) });
    return false;
  } catch (error) {
    return isReason(error, "NotFound");
  }
}

async function known(router: Router): Promise<"known"> {
  const { promise, reject } = Promise.withResolvers<never>();
  const message = `Cannot list the sandboxes within ${syncMs / 1000} s: see the warnings above`;
  const timer = setTimeout(() => reject(new Error(message)), syncMs);
  await Promise.race([router.ready, promise]).finally(() => clearTimeout(timer));
  return "known";
}

function whenAborted(signal: AbortSignal): Promise<"stopped"> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve("stopped");
    else signal.addEventListener("abort", () => resolve("stopped"), { once: true });
  });
}
