import { type ListenAddress, parseDurationMs, parseListenAddress } from "@agent-sandbox/api";
import type { Client, Logger } from "@agent-sandbox/kube";
import type { Tracer } from "@opentelemetry/api";
import { type AuthOptions, defaultRetries, type RouterOptions } from "../router-options.ts";
import type { MtlsMode } from "../tls/certificates.ts";
import { splitList, type Values } from "./read-config.ts";

export interface Environment {
  readonly client: Client;
  readonly log: Logger;
  readonly build?: NonNullable<RouterOptions["build"]>;
  /** Used if tracing is enabled. */
  readonly tracer?: Tracer;
}

/** Converts a valid configuration into options for `startRouter`. */
export function routerOptionsFrom(values: Values, { client, log, build, tracer }: Environment): RouterOptions {
  const durationMs = (name: keyof Values): number => parseDurationMs(values[name]) ?? 0;
  const count = (name: keyof Values): number => Number(values[name]);
  const isOn = (name: keyof Values): boolean => values[name] === "true" || values[name] === "1";
  return {
    client,
    log,
    ...(build && { build }),
    ...(isOn("enable-tracing") && tracer !== undefined ? { tracer } : {}),
    ...(values["cache-namespace"] === "" ? {} : { namespace: values["cache-namespace"] }),
    ...addresses(values),
    domains: splitList(values.domain),
    ...(values["allowed-hosts"] === "" ? {} : { hosts: splitList(values["allowed-hosts"]) }),
    allowedOrigins: splitList(values["allow-origin"]),
    auth: auth(values, isOn, durationMs),
    allowLoopbackPodIp: isOn("allow-loopback-pod-ip"),
    timeoutMs: durationMs("proxy-timeout"),
    holdMs: durationMs("wake-timeout"),
    shutdownMs: durationMs("shutdown-timeout"),
    maxBodyBytes: count("max-request-body-bytes"),
    maxHeaderBytes: count("max-header-bytes"),
    limits: {
      perSandbox: count("max-requests-per-sandbox"),
      perCaller: count("max-requests-per-caller"),
      connectionsPerCaller: count("max-connections-per-caller"),
    },
    retries: {
      max: count("upstream-max-retries"),
      firstDelayMs: durationMs("upstream-retry-initial-delay") || defaultRetries.firstDelayMs,
      maxDelayMs: durationMs("upstream-retry-max-delay") || defaultRetries.maxDelayMs,
    },
    accessLog: isOn("access-log"),
  };
}

function addresses(values: Values): Pick<RouterOptions, "listen" | "secure" | "metrics" | "probes"> {
  const at = <K extends string>(key: K, text: string): { [P in K]?: ListenAddress } => {
    const address = parseAddress(text);
    return (address === undefined ? {} : { [key]: address }) as { [P in K]?: ListenAddress };
  };
  const secure = parseAddress(values["https-bind-address"]);
  const clientCaFile = values["tls-client-ca-file"];
  const tls = {
    certFile: values["tls-cert-file"],
    keyFile: values["tls-key-file"],
    mtls: values["mtls-mode"] as MtlsMode,
    ...(clientCaFile === "" ? {} : { clientCaFile }),
  };
  return {
    ...at("listen", values["http-bind-address"]),
    ...(secure === undefined ? {} : { secure: { ...secure, ...tls } }),
    ...at("metrics", values["metrics-bind-address"]),
    ...at("probes", values["health-probe-bind-address"]),
  };
}

function auth(
  values: Values,
  isOn: (name: keyof Values) => boolean,
  durationMs: (name: keyof Values) => number,
): AuthOptions {
  const modes = splitList(values["authz-mode"]);
  if (modes.includes("allow-all")) return { anonymous: true };
  const keyFiles = splitList(values["authz-scoped-token-secret-file"]);
  return {
    requireToken: isOn("authz-tokenreview-require-token") || !modes.includes("tokenreview"),
    tokenReview: modes.includes("tokenreview") && {
      audiences: splitList(values["authz-tokenreview-audiences"]),
      ttlMs: durationMs("authz-tokenreview-ttl"),
      cacheSize: Number(values["authz-tokenreview-cache-size"]),
      accessReview: isOn("authz-tokenreview-access-review"),
    },
    ...(keyFiles.length === 0 ? {} : { keyFiles }),
  };
}

/** Without a host, the router listens on all IPv6 and IPv4 addresses. */
function parseAddress(text: string): Required<ListenAddress> | undefined {
  const address = parseListenAddress(text);
  return address && { host: "::", ...address };
}
