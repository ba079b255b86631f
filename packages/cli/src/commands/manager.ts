import { createPrivateKey, randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { issueCertificate } from "@agent-sandbox/apiserver";
import {
  flagTable,
  type IssueServingPair,
  type ManagerFlags,
  parseFlags,
  runManager,
} from "@agent-sandbox/controllers";
import type { OtlpTracing } from "@agent-sandbox/controllers/tracing";
import { HttpTransport, type Logger, loadDefault } from "@agent-sandbox/kube";
import { CommandError } from "../command-error.ts";
import { openLog } from "../open-log.ts";
import { imagesIn } from "../operator/settings.ts";

/** Runs the controllers against the cluster of the kubeconfig, or of the Pod this runs in, until SIGTERM or SIGINT. */
export async function manager(words: readonly string[], version: string): Promise<void> {
  if (words.some((word) => word === "--help" || word === "-h")) {
    console.log(describeFlags());
    return;
  }
  const parsed = parseFlags(words, { "runtime-image": imagesIn().runtimeImage });
  if (parsed.error !== undefined) throw new CommandError(`${parsed.error}; see agent-sandbox manager --help`);
  if (parsed.flags.version) {
    console.log(`agent-sandbox manager ${version} (Node ${process.versions.node})`);
    return;
  }
  await run(parsed.flags, parsed.warnings, version);
}

async function run(flags: ManagerFlags, warnings: readonly string[], version: string): Promise<void> {
  const build = {
    version,
    commit: process.env["GIT_COMMIT"] ?? "unknown",
    date: process.env["BUILD_DATE"] ?? "unknown",
  };
  const log = openLog(levelOf(flags));
  for (const warning of warnings) log.warn({ warning }, "questionable flag");

  const { access, error: noAccess } = await loadDefault(flags.kubeconfig === "" ? {} : { path: flags.kubeconfig });
  if (noAccess !== undefined) throw new CommandError(noAccess);
  const transport = new HttpTransport(access, { connections: flags["api-connections"] });
  await using tracing = await tracingOf(flags, log);
  const stop = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => stop.abort());
  // The random part keeps two replicas with the same host name apart.
  const identity = `${hostname()}_${randomBytes(8).toString("hex")}`;
  const onServing = (ports: object): void => log.info({ ...ports, identity, server: access.server }, "manager started");
  try {
    const issue = issueServingPair;
    const around = { transport, namespace: access.namespace, identity, log, build, issue, onServing };
    await runManager({ flags, ...around, ...(tracing && { tracing }) }, stop.signal);
  } catch (error) {
    log.error({ err: error }, "manager failed");
    process.exitCode = 1;
  } finally {
    await transport.close();
  }
}

async function tracingOf(flags: ManagerFlags, log: Logger): Promise<OtlpTracing | undefined> {
  if (!flags["enable-tracing"]) return undefined;
  const { OtlpTracing, otlpSender } = await import("@agent-sandbox/controllers/tracing");
  const send = otlpSender(process.env);
  return send && new OtlpTracing({ send, log });
}

function levelOf(flags: ManagerFlags): string {
  return flags["zap-log-level"] || (flags["zap-devel"] ? "debug" : "info");
}

const issueServingPair: IssueServingPair = ({ authorityName, names, notBeforeMs, notAfterMs }) => {
  const validity = { notBeforeMs, notAfterMs };
  const authority = issueCertificate({ commonName: authorityName, ...validity });
  const issuer = { commonName: authorityName, key: createPrivateKey(authority.key) };
  const { certificate, key } = issueCertificate({ commonName: names[0] ?? "", names, ...validity }, issuer);
  return { authority: authority.certificate, certificate, key };
};

function describeFlags(): string {
  const rows = Object.entries(flagTable).map(([name, { kind, initial, about }]) => {
    const shown = kind === "duration" ? `${Number(initial) / 1000}s` : String(initial);
    return `  --${name}  ${about}${shown === "" ? "" : ` (default ${shown})`}`;
  });
  return ["Usage: agent-sandbox manager [flags]", "", ...rows].join("\n");
}
