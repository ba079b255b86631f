export {
  type ApiServer,
  type ApiServerOptions,
  createApiServer,
  type Listening,
  type ListenOptions,
} from "./api-server.ts";
export type { AuditLevel } from "./audit/audit-event.ts";
export type { AuditOptions } from "./audit/audit-log.ts";
export { accountIdentity, type Identity, nodeIdentity } from "./auth/identity.ts";
export { type KubeconfigOptions, writeKubeconfig } from "./auth/kubeconfig.ts";
export type { AccessOptions } from "./authorization/open-access.ts";
export type { Clock } from "./clock.ts";
export type { ShareLimits } from "./http/fair-shares.ts";
export type { Logger } from "./logger.ts";
export { backUpFolder, saveBackup } from "./store/back-up-folder.ts";
export type { HistoryBounds } from "./store/history.ts";
export { type Restored, restoreFolder } from "./store/restore.ts";
export { type CertificateRequest, type Issuer, issueCertificate, type KeyAndCertificate } from "./tls/certificate.ts";
export { type ClientRequest, issueClientCertificate, readAuthority } from "./tls/client-identity.ts";
export type { NamespaceLimits } from "./verbs/namespace-limits.ts";
