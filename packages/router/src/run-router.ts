import { readFileSync } from "node:fs";
import { createClient, HttpTransport, type Logger, loadDefault } from "@agent-sandbox/kube";
import { trace } from "@opentelemetry/api";
import { readConfig } from "./config/read-config.ts";
import { routerOptionsFrom } from "./config/router-options-from.ts";
import { startRouter } from "./start-router.ts";

export interface RunRouterOptions {
  /** After the command's own name. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  /** Aborted when the router is to stop. */
  readonly signal: AbortSignal;
}

const syncMs = 60_000;

/** Runs the router until it is told to stop. The exit code: 0, 1 when it failed, 2 when it was told nonsense. */
export async function runRouter({ args, env, log, signal }: RunRouterOptions): Promise<0 | 1 | 2> {
  const config = readConfig({ args, env, readFile: (path) => readFileSync(path, "utf8") });
  if ("errors" in config) {
    for (const error of config.errors) log.error({}, error);
    return 2;
  }
  try {
    const { kubeconfig } = config.values;
    const { access, error } = await loadDefault({ env, ...(kubeconfig === "" ? {} : { path: kubeconfig }) });
    if (access === undefined) throw new Error(error);
    const client = createClient(new HttpTransport(access), { fieldManager: "sandbox-router" });
    const tracer = trace.getTracer("sandbox-router");
    await using router = await startRouter(routerOptionsFrom(config.values, { client, log, tracer }));
    await within(router.ready, syncMs);
    log.info({ url: router.url }, "router started");
    await stopped(signal);
    log.info({}, "router stopping");
    return 0;
  } catch (error) {
    log.error({ err: error }, "router failed");
    return 1;
  }
}

async function within(ready: Promise<void>, ms: number): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`Cannot list the sandboxes within ${ms} ms`)), ms);
  await Promise.race([ready, promise]).finally(() => clearTimeout(timer));
}

function stopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
