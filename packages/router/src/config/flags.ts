/** How the text of a flag is read. */
export type FlagKind =
  | "text"
  | "address"
  | "duration"
  | "positiveDuration"
  | "count"
  | "positiveCount"
  | "switch"
  | "list"
  | "level";

export interface Flag {
  readonly kind: FlagKind;
  readonly fallback: string;
  /** The environment variable that stands in for the flag. */
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
 * Every flag of the router, by name: also the keys of its configuration file. Names and defaults are those existing
 * deployments use, except where the default would let everybody in.
 */
export const flags: Readonly<Record<FlagName, Flag>> = {
  "http-bind-address": { kind: "address", fallback: ":8080", help: "Plain HTTP; empty: none." },
  "https-bind-address": { kind: "address", fallback: "", help: "HTTPS; needs certificate and key." },
  "metrics-bind-address": { kind: "address", fallback: ":9090", help: "/metrics; empty: none." },
  "health-probe-bind-address": { kind: "address", fallback: ":8081", help: "/healthz and /readyz; empty: none." },
  "tls-cert-file": { kind: "text", fallback: "", help: "PEM; read again when it changes." },
  "tls-key-file": { kind: "text", fallback: "", help: "PEM; read again when it changes." },
  "tls-client-ca-file": { kind: "text", fallback: "", help: "PEM of who signs callers' certificates." },
  "mtls-mode": {
    kind: "text",
    fallback: "off",
    values: ["off", "optional", "required"],
    help: "Certificates of callers.",
  },
  "cluster-domain": {
    kind: "text",
    fallback: "cluster.local",
    env: "CLUSTER_DOMAIN",
    help: "Accepted; names are never resolved by DNS.",
  },
  "allowed-hosts": { kind: "list", fallback: "", help: "The router's own host names; empty: any." },
  domain: { kind: "list", fallback: "localhost", help: "Below these, <sandbox>.<namespace> is a host name." },
  "proxy-timeout": {
    kind: "positiveDuration",
    fallback: "180s",
    help: "How long a request may stand still. Environment: PROXY_TIMEOUT_SECONDS.",
  },
  "response-header-timeout": {
    kind: "positiveDuration",
    fallback: "30s",
    help: "Accepted; an answer may take as long as proxy-timeout.",
  },
  "wake-timeout": {
    kind: "positiveDuration",
    fallback: "60s",
    help: "How long a request is held for a sandbox that is coming up.",
  },
  "shutdown-timeout": { kind: "duration", fallback: "30s", help: "How long requests may finish after SIGTERM." },
  "max-request-body-bytes": { kind: "count", fallback: "0", help: "0: any." },
  "max-header-bytes": { kind: "positiveCount", fallback: "65536", help: "Of a request or an answer." },
  "max-requests-per-sandbox": { kind: "count", fallback: "2000", help: "At a time; 0: any." },
  "max-requests-per-caller": { kind: "count", fallback: "1000", help: "At a time; 0: any." },
  "max-connections-per-caller": { kind: "count", fallback: "1000", help: "WebSockets and tunnels at a time; 0: any." },
  "allow-loopback-pod-ip": {
    kind: "switch",
    fallback: "false",
    help: "Takes 127.0.0.0/8 and ::1 in X-Sandbox-Pod-IP.",
  },
  "upstream-max-retries": { kind: "count", fallback: "3", help: "Of connections that could not be made." },
  "upstream-retry-initial-delay": { kind: "duration", fallback: "200ms", help: "Doubles each time; 0: the default." },
  "upstream-retry-max-delay": { kind: "duration", fallback: "800ms", help: "0: the default." },
  "enable-tracing": { kind: "switch", fallback: "", help: "On by itself when an OTLP endpoint is in the environment." },
  "enable-otel-metrics": { kind: "switch", fallback: "", help: "Accepted; metrics are served at /metrics." },
  "authz-mode": {
    kind: "list",
    fallback: "tokenreview,scoped-token",
    values: ["allow-all", "tokenreview", "scoped-token"],
    help: "Who may; allow-all stands alone.",
  },
  "authz-tokenreview-ttl": {
    kind: "positiveDuration",
    fallback: "30s",
    help: "How long an answer of the API server counts.",
  },
  "authz-tokenreview-cache-size": { kind: "positiveCount", fallback: "2048", help: "How many answers are kept." },
  "authz-tokenreview-require-token": {
    kind: "switch",
    fallback: "true",
    help: "false: a request without a token passes.",
  },
  "authz-tokenreview-access-review": {
    kind: "switch",
    fallback: "true",
    help: "Asks whether the user may connect to the very Sandbox.",
  },
  "authz-tokenreview-audiences": { kind: "list", fallback: "", help: "Tokens must be meant for one of these." },
  "authz-scoped-token-secret-file": {
    kind: "list",
    fallback: "",
    help: "The first signs, all verify; read again when they change.",
  },
  "cache-enabled": { kind: "switch", fallback: "true", help: "Accepted; sandboxes are always known from a watch." },
  "cache-namespace": { kind: "text", fallback: "", help: "Only this namespace; empty: all." },
  kubeconfig: {
    kind: "text",
    fallback: "",
    help: "Empty: KUBECONFIG, ~/.kube/config, or the account of the Pod it runs in.",
  },
  "access-log": { kind: "switch", fallback: "true", help: "One line per request." },
  "zap-log-level": { kind: "level", fallback: "", help: "debug, info, warn or error; a number means debug." },
  "zap-devel": { kind: "switch", fallback: "false", help: "Debug lines too." },
  "zap-encoder": { kind: "text", fallback: "json", help: "Accepted; lines are JSON." },
  "zap-stacktrace-level": { kind: "text", fallback: "", help: "Accepted; errors carry their stack." },
  "zap-time-encoding": { kind: "text", fallback: "", help: "Accepted; times are ISO 8601." },
};

export function isFlag(name: string): name is FlagName {
  return Object.hasOwn(flags, name);
}
