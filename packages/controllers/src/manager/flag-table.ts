import { tmpdir } from "node:os";
import { join } from "node:path";

/** How a flag's text is read. */
export type FlagKind = "boolean" | "integer" | "number" | "text" | "duration" | "list";

export interface FlagRow<T = unknown> {
  readonly kind: FlagKind;
  readonly initial: T;
  readonly about: string;
}

const boolean = (initial: boolean, about: string): FlagRow<boolean> => ({ kind: "boolean", initial, about });
const integer = (initial: number, about: string): FlagRow<number> => ({ kind: "integer", initial, about });
const number = (initial: number, about: string): FlagRow<number> => ({ kind: "number", initial, about });
const text = (initial: string, about: string): FlagRow<string> => ({ kind: "text", initial, about });
const duration = (initial: number, about: string): FlagRow<number> => ({ kind: "duration", initial, about });
const list = (about: string): FlagRow<readonly string[]> => ({ kind: "list", initial: [], about });

/** The flags by their names. Durations are in milliseconds. */
export interface ManagerFlags {
  readonly version: boolean;
  readonly extensions: boolean;
  readonly "watch-namespaces": readonly string[];
  readonly "cluster-domain": string;
  readonly "router-namespace": string;
  readonly "runtime-image": string;
  readonly "runtime-delivery": string;
  readonly "leader-elect": boolean;
  readonly "leader-election-namespace": string;
  readonly "metrics-bind-address": string;
  readonly "health-probe-bind-address": string;
  readonly "kube-api-qps": number;
  readonly "kube-api-burst": number;
  readonly "api-connections": number;
  readonly "separate-watch-connection": boolean;
  readonly "sandbox-concurrent-workers": number;
  readonly "sandbox-claim-concurrent-workers": number;
  readonly "sandbox-warm-pool-concurrent-workers": number;
  readonly "sandbox-template-concurrent-workers": number;
  readonly "sandbox-warm-pool-max-batch-size": number;
  readonly "sandbox-warm-pool-replenish-delay": number;
  readonly "sandbox-warm-pool-max-refill-rate": number;
  readonly "sandbox-warm-pool-readiness-grace-period": number;
  readonly "sandbox-warm-pool-unschedulable-recheck-interval": number;
  readonly "enable-warm-pool-eviction": boolean;
  readonly "sandbox-write-behind-window": number;
  readonly "cache-label-selectors": boolean;
  readonly "disable-claim-events": boolean;
  readonly "disable-claim-observability-annotations": boolean;
  readonly "enable-webhook": boolean;
  readonly "manage-webhook-certs": boolean;
  readonly "webhook-port": number;
  readonly "webhook-cert-dir": string;
  readonly "webhook-cert-name": string;
  readonly "webhook-key-name": string;
  readonly "webhook-service-name": string;
  readonly "webhook-namespace": string;
  readonly "enable-tracing": boolean;
  readonly "enable-pprof": boolean;
  readonly "enable-pprof-debug": boolean;
  readonly "pprof-block-profile-rate": number;
  readonly "pprof-mutex-profile-fraction": number;
  readonly "zap-devel": boolean;
  readonly "zap-encoder": string;
  readonly "zap-log-level": string;
  readonly "zap-stacktrace-level": string;
  readonly "zap-time-encoding": string;
  readonly kubeconfig: string;
}

export type FlagName = keyof ManagerFlags;

/** Every flag of the manager. */
export const flagTable: { readonly [Name in FlagName]: FlagRow<ManagerFlags[Name]> } = {
  version: boolean(false, "print the version and exit"),
  extensions: boolean(false, "serve claims, templates and pools too"),
  "watch-namespaces": list("only these namespaces, separated by commas; all when empty"),
  "cluster-domain": text("cluster.local", "the cluster's DNS domain"),
  "router-namespace": text("agent-sandbox-system", "where the router runs that may reach Sandboxes by default"),
  "runtime-image": text(
    "",
    "the image of sandboxd, for Sandboxes with runtime: Injected; those are refused when empty",
  ),
  "runtime-delivery": text("InitContainer", "InitContainer, or ImageVolume where nodes can mount images"),
  "leader-elect": boolean(true, "work only while holding the lease"),
  "leader-election-namespace": text("", "where the lease is; the manager's own namespace when empty"),
  "metrics-bind-address": text(":8080", "where metrics are served; 0: nowhere"),
  "health-probe-bind-address": text(":8081", "where probes are answered; 0: nowhere"),
  "kube-api-qps": number(-1, "requests per second to the API server; -1: no limit"),
  "kube-api-burst": integer(10, "requests at once when there is a limit"),
  "api-connections": integer(32, "connections that requests are spread over"),
  "separate-watch-connection": boolean(true, "watches have connections of their own; they always do"),
  "sandbox-concurrent-workers": integer(100, "Sandboxes worked on at the same time"),
  "sandbox-claim-concurrent-workers": integer(50, "claims worked on at the same time"),
  "sandbox-warm-pool-concurrent-workers": integer(1, "pools worked on at the same time"),
  "sandbox-template-concurrent-workers": integer(1, "templates worked on at the same time"),
  "sandbox-warm-pool-max-batch-size": integer(300, "members made or deleted in one pass"),
  "sandbox-warm-pool-replenish-delay": duration(0, "how long a pool waits before it refills"),
  "sandbox-warm-pool-max-refill-rate": number(0, "members a second at most; 0: no limit"),
  "sandbox-warm-pool-readiness-grace-period": duration(300_000, "how long a member may be not Ready"),
  "sandbox-warm-pool-unschedulable-recheck-interval": duration(60_000, "how often unschedulable members are looked at"),
  "enable-warm-pool-eviction": boolean(true, "let the autoscaler evict unclaimed members"),
  "sandbox-write-behind-window": duration(0, "how long a Pod's metadata may stay behind"),
  "cache-label-selectors": boolean(false, "cache only Pods and Services with a Sandbox's label"),
  "disable-claim-events": boolean(false, "tell claims nothing by events"),
  "disable-claim-observability-annotations": boolean(false, "note no times on claims"),
  "enable-webhook": boolean(true, "serve the conversion webhook"),
  "manage-webhook-certs": boolean(true, "make and publish the webhook's certificate"),
  "webhook-port": integer(9443, "where the webhook is served"),
  "webhook-cert-dir": text(join(tmpdir(), "k8s-webhook-server", "serving-certs"), "the folder of the certificate"),
  "webhook-cert-name": text("tls.crt", "the certificate's file"),
  "webhook-key-name": text("tls.key", "the key's file"),
  "webhook-service-name": text("agent-sandbox-webhook-service", "the Service in front of the webhook"),
  "webhook-namespace": text("agent-sandbox-system", "the namespace of that Service"),
  "enable-tracing": boolean(false, "send spans to OTEL_EXPORTER_OTLP_ENDPOINT"),
  "enable-pprof": boolean(false, "serve a processor profile beside the metrics"),
  "enable-pprof-debug": boolean(false, "serve every profile beside the metrics"),
  "pprof-block-profile-rate": integer(1_000_000, "taken for compatibility; has no effect"),
  "pprof-mutex-profile-fraction": integer(10, "taken for compatibility; has no effect"),
  "zap-devel": boolean(false, "log for a person at a terminal: debug lines too"),
  "zap-encoder": text("json", "taken for compatibility: lines are JSON"),
  "zap-log-level": text("", "debug, info, warn or error"),
  "zap-stacktrace-level": text("", "taken for compatibility: errors carry their stack"),
  "zap-time-encoding": text("", "taken for compatibility: times are ISO 8601"),
  kubeconfig: text("", "the cluster; else KUBECONFIG, else the Pod's account"),
};
