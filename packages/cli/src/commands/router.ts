import { readFileSync } from "node:fs";
import type { OtlpTracing } from "@agent-sandbox/controllers/tracing";
import type { Logger } from "@agent-sandbox/kube";
import { logLevelOf, readConfig, runRouter, type Values } from "@agent-sandbox/router";
import { propagation } from "@opentelemetry/api";
import { CommandError } from "../command-error.ts";
import { openLog } from "../open-log.ts";
import { routerHelp } from "./router-help.ts";

/** Runs the router against the cluster of the kubeconfig, or of the Pod this runs in, until SIGTERM or SIGINT. */
export async function router(words: readonly string[], version: string): Promise<void> {
  if (words.some((word) => word === "--help" || word === "-h")) {
    console.log(routerHelp());
    return;
  }
  if (words.some((word) => word === "--version")) {
    console.log(`agent-sandbox router ${version} (Node ${process.versions.node})`);
    return;
  }
  const config = readConfig({ args: words, env: process.env, readFile: (path) => readFileSync(path, "utf8") });
  if ("errors" in config) {
    throw new CommandError(`${config.errors.join("\n       ")}\nSee agent-sandbox router --help`, { exitCode: 2 });
  }
  await run(config.values, version);
}

async function run(values: Values, version: string): Promise<void> {
  const log = openLog(logLevelOf(values));
  const stop = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => stop.abort());
  const build = { version, commit: process.env["GIT_COMMIT"] ?? "unknown" };
  await using tracing = await tracingOf(values, log);
  const tracer = tracing && { tracer: tracing.tracer };
  process.exitCode = await runRouter({ values, env: process.env, log, signal: stop.signal, build, ...tracer });
}

async function tracingOf(values: Values, log: Logger): Promise<OtlpTracing | undefined> {
  if (values["enable-tracing"] !== "true" && values["enable-tracing"] !== "1") return undefined;
  const { OtlpTracing, otlpSender } = await import("@agent-sandbox/controllers/tracing");
  const send = otlpSender(process.env);
  if (send === undefined) {
    log.warn({}, "tracing is enabled but OTEL_EXPORTER_OTLP_ENDPOINT is not set");
    return undefined;
  }
  const tracing = new OtlpTracing({ send, log, service: "sandbox-router" });
  propagation.setGlobalPropagator(tracing.propagator);
  return tracing;
}
