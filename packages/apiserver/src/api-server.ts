import type { PodSessions, PodStreams, RouterForward, Transport } from "@agent-sandbox/kube";
import type { AuditOptions } from "./audit/audit-log.ts";
import type { Identity } from "./auth/identity.ts";
import type { AccessOptions } from "./authorization/open-access.ts";
import type { Clock } from "./clock.ts";
import type { ShareLimits } from "./http/fair-shares.ts";
import type { Logger } from "./logger.ts";
import type { PartMetrics } from "./metrics/part-metrics.ts";
import type { NamespacePercent } from "./placement/usage.ts";
import type { HistoryBounds } from "./store/history.ts";
import type { KeyAndCertificate } from "./tls/certificate.ts";
import type { ClientRequest } from "./tls/client-identity.ts";
import type { NamespaceLimits } from "./verbs/namespace-limits.ts";

export interface ApiServerOptions {
  /** The data folder. Default: none, and everything is lost when the process ends. */
  readonly dataDir?: string | undefined;
  /** The box's only node, to which Pods are bound when they are created. Default: none, and Pods wait for a scheduler. */
  readonly nodeName?: string | undefined;
  /** The RuntimeClasses to create. Default: those of the box's node, if there is one. */
  readonly runtimeClasses?: readonly string[] | undefined;
  /** The node's implementation of exec, attach, logs and port-forward. Default: none, and they are refused. */
  readonly podStreams?: PodStreams | undefined;
  /** Told about sessions with Pods, which it may delay until the Pod runs. Default: none, and sessions begin at once. */
  readonly podSessions?: PodSessions | undefined;
  /** The router, to which clients can forward a port. Default: none, and the objects through which they find it do not exist. */
  readonly routerForward?: RouterForward | undefined;
  /** The metrics of other parts of the box, in the Prometheus text format, by the name of the part. Default: none. */
  readonly partMetrics?: PartMetrics | undefined;
  /** Default: no logs. */
  readonly logger?: Logger | undefined;
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** The history from which watches can start. Default: 8192 changes of each resource, 64 MiB, five minutes. */
  readonly history?: HistoryBounds | undefined;
  /** How often a watch without events gets a bookmark. Default: one minute, like kube-apiserver. */
  readonly bookmarkMs?: number | undefined;
  /** How clients are authenticated and authorized. */
  readonly access?: AccessOptions | undefined;
  /** Default: no audit log. */
  readonly audit?: AuditOptions | undefined;
  /** The limits of one user's concurrent requests over HTTPS. Default: see `defaultShares`. */
  readonly shares?: Partial<ShareLimits> | undefined;
  /** Origins whose pages may call the API with a token, such as `https://app.example`. Default: none. */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** How much each namespace may store. Default: see `defaultNamespaceLimits`. */
  readonly limits?: Partial<NamespaceLimits> | undefined;
  /** How much of the node the Pods of each namespace may request. Default: see `defaultNamespacePercent`. */
  readonly namespacePercent?: Partial<NamespacePercent> | undefined;
  /** Freezes stored objects, so that code that changes one throws. For tests: it makes writes slower. Default: false. */
  readonly freezeObjects?: boolean | undefined;
}

export interface ListenOptions {
  /** Default: 127.0.0.1. */
  readonly host?: string;
  /** Default: any free port. */
  readonly port?: number;
}

export interface Listening {
  /** `https://host:port` */
  readonly url: string;
  readonly port: number;
  /** The certificate authority that clients must trust, in PEM. */
  readonly authority: string;
  readonly token: string;
  /** Writes a kubeconfig that only its owner can read. Default: with the administrator's token instead of a certificate. */
  writeKubeconfig(path: string, certificate?: KeyAndCertificate): void;
  /** Issues a certificate that authenticates a user. Roles decide what the user may do. */
  issueClientCertificate(request: ClientRequest): KeyAndCertificate;
}

export interface ApiServer extends AsyncDisposable {
  /** The in-process transport of a member of `system:masters`. */
  readonly transport: Transport;
  /** The in-process transport of an identity, with the permissions of its roles. */
  transportAs(identity: Identity): Transport;
  /** Starts to serve HTTPS. Can be called once. */
  listen(options?: ListenOptions): Promise<Listening>;
  /** Ends watches and streams, answers pending requests and saves accepted writes. */
  close(): Promise<void>;
}
