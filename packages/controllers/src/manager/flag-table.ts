import { tmpdir } from "node:os";
import { join } from "node:path";

/** The type of a flag's value. */
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

/** The flags by name. Durations are in milliseconds. */
export interface ManagerFlags {
  readonly version: boolean;
  readonly extensions: boolean;
  readonly "watch-namespaces": readonly string[];
  readonly "cluster-domain": string;
  readonly "router-namespace": string;
  readonly "runtime-image": string;
  readonly "runtime-image-pull-policy": string;
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
  extensions: boolean(false, "also run the claim, template and pool controllers"),
  "watch-namespaces": list("watch only these namespaces, separated by commas; all if empty"),
  "cluster-domain": text("cluster.local", "the cluster's DNS domain"),
  "router-namespace": text("agent-sandbox-system", "the namespace of the router that the default NetworkPolicy admits"),
  "runtime-image": text(
    "",
    "the sandboxd image for Sandboxes with runtime: Injected; by default the image of this version; if set to nothing, they report an error",
  ),
  "runtime-image-pull-policy": text(
    "IfNotPresent",
    "when nodes pull the sandboxd image: Always, IfNotPresent or Never",
  ),
  "runtime-delivery": text(
    "InitContainer",
    "how sandboxd is delivered: InitContainer, or ImageVolume if nodes support image volumes",
  ),
  "leader-elect": boolean(true, "use leader election"),
  "leader-election-namespace": text("", "the namespace of the lease; the manager's own if empty"),
  "metrics-bind-address": text(":8080", "address of the metrics endpoint; 0 disables it"),
  "health-probe-bind-address": text(":8081", "address of the health probes; 0 disables them"),
  "kube-api-qps": number(-1, "maximum requests per second to the API server; -1 for no limit"),
  "kube-api-burst": integer(10, "burst of requests when kube-api-qps is set"),
  "api-connections": integer(32, "number of connections for requests to the API server"),
  "separate-watch-connection": boolean(true, "accepted for compatibility; watches always use separate connections"),
  "sandbox-concurrent-workers": integer(100, "concurrent reconciles of Sandboxes"),
  "sandbox-claim-concurrent-workers": integer(50, "concurrent reconciles of claims"),
  "sandbox-warm-pool-concurrent-workers": integer(1, "concurrent reconciles of pools"),
  "sandbox-template-concurrent-workers": integer(1, "concurrent reconciles of templates"),
  "sandbox-warm-pool-max-batch-size": integer(300, "maximum members created or deleted in one reconcile"),
  "sandbox-warm-pool-replenish-delay": duration(
    0,
    "how long a pool waits before it replaces members that were claimed",
  ),
  "sandbox-warm-pool-max-refill-rate": number(0, "maximum members created per second and pool; 0 for no limit"),
  "sandbox-warm-pool-readiness-grace-period": duration(
    300_000,
    "how long a member may be not Ready before it is replaced",
  ),
  "sandbox-warm-pool-unschedulable-recheck-interval": duration(
    60_000,
    "how often pools with unschedulable members are reconciled",
  ),
  "enable-warm-pool-eviction": boolean(true, "allow the cluster autoscaler to evict unclaimed members"),
  "sandbox-write-behind-window": duration(0, "how long updates of Pod metadata may be delayed, at most 1s"),
  "cache-label-selectors": boolean(false, "cache only Pods and Services with the Sandbox name hash label"),
  "disable-claim-events": boolean(false, "do not create events for claims"),
  "disable-claim-observability-annotations": boolean(false, "do not write observability annotations to claims"),
  "enable-webhook": boolean(true, "serve the conversion webhook"),
  "manage-webhook-certs": boolean(true, "create and rotate the webhook certificate"),
  "webhook-port": integer(9443, "port of the webhook"),
  "webhook-cert-dir": text(
    join(tmpdir(), "k8s-webhook-server", "serving-certs"),
    "directory of the certificate; a managed one is kept in memory if it cannot be written there",
  ),
  "webhook-cert-name": text("tls.crt", "file name of the certificate"),
  "webhook-key-name": text("tls.key", "file name of the key"),
  "webhook-service-name": text("agent-sandbox-webhook-service", "name of the webhook's Service"),
  "webhook-namespace": text("agent-sandbox-system", "namespace of the webhook's Service"),
  "enable-tracing": boolean(false, "send spans to OTEL_EXPORTER_OTLP_ENDPOINT"),
  "enable-pprof": boolean(false, "serve CPU profiles on the metrics endpoint"),
  "enable-pprof-debug": boolean(false, "serve CPU and heap profiles on the metrics endpoint"),
  "pprof-block-profile-rate": integer(1_000_000, "accepted for compatibility; has no effect"),
  "pprof-mutex-profile-fraction": integer(10, "accepted for compatibility; has no effect"),
  "zap-devel": boolean(false, "log at debug level"),
  "zap-encoder": text("json", "accepted for compatibility; logs are JSON"),
  "zap-log-level": text("", "log level: debug, info, warn or error"),
  "zap-stacktrace-level": text("", "accepted for compatibility; errors include their stack"),
  "zap-time-encoding": text("", "accepted for compatibility; times are ISO 8601"),
  kubeconfig: text("", "kubeconfig file; default KUBECONFIG, else the Pod's service account"),
};
