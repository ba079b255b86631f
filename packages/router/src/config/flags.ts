/** How the value of a flag is parsed. */
export type FlagKind =
  | "text"
  | "address"
  | "duration"
  | "positiveDuration"
  | "count"
  | "positiveCount"
  | "switch"
  | "list"
  | "origins"
  | "level";

export interface Flag {
  readonly kind: FlagKind;
  readonly fallback: string;
  /** The environment variable that sets the flag. */
  readonly env?: string;
  readonly values?: readonly string[];
  readonly help: string;
}

export type FlagName =
  | "http-bind-address"
  | "https-bind-address"
  | "metrics-bind-address"
  | "health-probe-bind-address"
  | "tls-cert-file"
  | "tls-key-file"
  | "tls-client-ca-file"
  | "mtls-mode"
  | "cluster-domain"
  | "domain"
  | "allowed-hosts"
  | "allow-origin"
  | "proxy-timeout"
  | "response-header-timeout"
  | "wake-timeout"
  | "shutdown-timeout"
  | "max-request-body-bytes"
  | "max-header-bytes"
  | "max-requests-per-sandbox"
  | "max-requests-per-caller"
  | "max-connections-per-caller"
  | "allow-loopback-pod-ip"
  | "upstream-max-retries"
  | "upstream-retry-initial-delay"
  | "upstream-retry-max-delay"
  | "enable-tracing"
  | "enable-otel-metrics"
  | "authz-mode"
  | "authz-tokenreview-ttl"
  | "authz-tokenreview-cache-size"
  | "authz-tokenreview-require-token"
  | "authz-tokenreview-access-review"
  | "authz-tokenreview-audiences"
  | "authz-scoped-token-secret-file"
  | "cache-enabled"
  | "cache-namespace"
  | "kubeconfig"
  | "access-log"
  | "zap-log-level"
  | "zap-devel"
  | "zap-encoder"
  | "zap-stacktrace-level"
  | "zap-time-encoding";

/**
 * The flags of the router, which are also the keys of its configuration file. Names and defaults are those of the
 * reference implementation, except where its default would allow access without authentication.
 */
export const flags: Readonly<Record<FlagName, Flag>> = {
  "http-bind-address": { kind: "address", fallback: ":8080", help: "Address for plain HTTP. Empty: disabled." },
  "https-bind-address": {
    kind: "address",
    fallback: "",
    help: "Address for HTTPS. Requires tls-cert-file and tls-key-file.",
  },
  "metrics-bind-address": { kind: "address", fallback: ":9090", help: "Address for /metrics. Empty: disabled." },
  "health-probe-bind-address": {
    kind: "address",
    fallback: ":8081",
    help: "Address for /healthz and /readyz. Empty: disabled.",
  },
  "tls-cert-file": { kind: "text", fallback: "", help: "Certificate in PEM. Reloaded when it changes." },
  "tls-key-file": { kind: "text", fallback: "", help: "Private key in PEM. Reloaded when it changes." },
  "tls-client-ca-file": { kind: "text", fallback: "", help: "CA of client certificates in PEM." },
  "mtls-mode": {
    kind: "text",
    fallback: "off",
    values: ["off", "optional", "required"],
    help: "Whether clients must present a certificate.",
  },
  "cluster-domain": {
    kind: "text",
    fallback: "cluster.local",
    env: "CLUSTER_DOMAIN",
    help: "Accepted and ignored: the router does not use DNS.",
  },
  "allowed-hosts": { kind: "list", fallback: "", help: "Host names of the router itself. Empty: any." },
  "allow-origin": {
    kind: "origins",
    fallback: "",
    help: "Origin whose pages may use the router with a token, such as https://app.example. Can be repeated.",
  },
  domain: {
    kind: "list",
    fallback: "localhost",
    help: "Host names are <sandbox>.<namespace>.<domain>.",
  },
  "proxy-timeout": {
    kind: "positiveDuration",
    fallback: "180s",
    help: "How long a request may make no progress. Environment: PROXY_TIMEOUT_SECONDS.",
  },
  "response-header-timeout": {
    kind: "positiveDuration",
    fallback: "30s",
    help: "Accepted and ignored: proxy-timeout applies.",
  },
  "wake-timeout": {
    kind: "positiveDuration",
    fallback: "60s",
    help: "How long a request waits for its sandbox to become ready.",
  },
  "shutdown-timeout": {
    kind: "duration",
    fallback: "30s",
    help: "How long requests in progress may take after SIGTERM.",
  },
  "max-request-body-bytes": { kind: "count", fallback: "0", help: "Size limit of request bodies. 0: no limit." },
  "max-header-bytes": {
    kind: "positiveCount",
    fallback: "65536",
    help: "Size limit of the headers of a request or a response.",
  },
  "max-requests-per-sandbox": { kind: "count", fallback: "2000", help: "Concurrent requests. 0: no limit." },
  "max-requests-per-caller": { kind: "count", fallback: "1000", help: "Concurrent requests. 0: no limit." },
  "max-connections-per-caller": {
    kind: "count",
    fallback: "1000",
    help: "Concurrent WebSockets and tunnels. 0: no limit.",
  },
  "allow-loopback-pod-ip": {
    kind: "switch",
    fallback: "false",
    help: "Accept 127.0.0.0/8 and ::1 in X-Sandbox-Pod-IP.",
  },
  "upstream-max-retries": { kind: "count", fallback: "3", help: "Retries of a failed connection to a sandbox." },
  "upstream-retry-initial-delay": {
    kind: "duration",
    fallback: "200ms",
    help: "Delay of the first retry. It doubles each time. 0: the default.",
  },
  "upstream-retry-max-delay": {
    kind: "duration",
    fallback: "800ms",
    help: "Longest delay between retries. 0: the default.",
  },
  "enable-tracing": {
    kind: "switch",
    fallback: "",
    help: "Send traces. Default: if an OTLP endpoint is set in the environment.",
  },
  "enable-otel-metrics": {
    kind: "switch",
    fallback: "",
    help: "Accepted and ignored: metrics are served at /metrics.",
  },
  "authz-mode": {
    kind: "list",
    fallback: "tokenreview,scoped-token",
    values: ["allow-all", "tokenreview", "scoped-token"],
    help: "How callers are authenticated. allow-all cannot be combined.",
  },
  "authz-tokenreview-ttl": {
    kind: "positiveDuration",
    fallback: "30s",
    help: "How long answers of the API server are cached.",
  },
  "authz-tokenreview-cache-size": { kind: "positiveCount", fallback: "2048", help: "Number of cached answers." },
  "authz-tokenreview-require-token": {
    kind: "switch",
    fallback: "true",
    help: "If false, requests without a token are allowed.",
  },
  "authz-tokenreview-access-review": {
    kind: "switch",
    fallback: "true",
    help: "Check whether the user may connect to the Sandbox.",
  },
  "authz-tokenreview-audiences": {
    kind: "list",
    fallback: "",
    help: "Audiences that tokens must have, at least one of them.",
  },
  "authz-scoped-token-secret-file": {
    kind: "list",
    fallback: "",
    help: "Key files. The first key signs, all verify. Reloaded when they change.",
  },
  "cache-enabled": {
    kind: "switch",
    fallback: "true",
    help: "Accepted and ignored: the router always watches Sandboxes.",
  },
  "cache-namespace": { kind: "text", fallback: "", help: "Serve only this namespace. Empty: all." },
  kubeconfig: {
    kind: "text",
    fallback: "",
    help: "Empty: KUBECONFIG, ~/.kube/config, or the service account of the Pod.",
  },
  "access-log": { kind: "switch", fallback: "true", help: "Log every request." },
  "zap-log-level": { kind: "level", fallback: "", help: "debug, info, warn or error. A number means debug." },
  "zap-devel": { kind: "switch", fallback: "false", help: "Log debug messages." },
  "zap-encoder": { kind: "text", fallback: "json", help: "Accepted and ignored: the log is JSON." },
  "zap-stacktrace-level": {
    kind: "text",
    fallback: "",
    help: "Accepted and ignored: errors are logged with their stack.",
  },
  "zap-time-encoding": { kind: "text", fallback: "", help: "Accepted and ignored: times are ISO 8601." },
};

export function isFlag(name: string): name is FlagName {
  return Object.hasOwn(flags, name);
}
