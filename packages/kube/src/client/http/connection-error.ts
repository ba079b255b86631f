import { KubeError } from "../../errors.ts";

const untrusted =
  "its certificate is signed by an authority that is not trusted: give the cluster's CA (certificate-authority)";
const refusedCertificate = "the server rejected our client certificate: it is missing, expired or signed by another CA";

/** Explanations of connection failures by error code. */
const states: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "its certificate has expired: renew it, and check this machine's clock",
  CERT_NOT_YET_VALID: "its certificate is not valid yet: check this machine's clock",
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  CERT_SIGNATURE_FAILURE: untrusted,
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: refusedCertificate,
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: refusedCertificate,
  ERR_SSL_TLSV1_ALERT_DECRYPT_ERROR: refusedCertificate,
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: refusedCertificate,
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: refusedCertificate,
  ERR_SSL_WRONG_VERSION_NUMBER: "it does not speak TLS on that port: should the address begin with http://?",
  ECONNREFUSED: "nothing listens there: is the API server running?",
  ENOTFOUND: "its host name is unknown",
  EAI_AGAIN: "its host name could not be looked up: is the network up?",
  EHOSTUNREACH: "there is no route to it",
  ENETUNREACH: "there is no route to it",
  UND_ERR_CONNECT_TIMEOUT: "it did not accept the connection in time",
  ETIMEDOUT: "it did not accept the connection in time",
};

export interface ErrorPlace {
  /** `GET https://host/path`. */
  readonly request: string;
  readonly server: string;
  /** Whether any byte of the request may have been sent. */
  readonly sent: boolean;
}

/** The error of a request without a complete response. */
export function connectionError(cause: unknown, { request, server, sent }: ErrorPlace): KubeError {
  if (cause instanceof KubeError) return cause;
  const code = codeOf(cause);
  const state = code === "ERR_TLS_CERT_ALTNAME_INVALID" ? wrongName(cause) : states[code];
  // With TLS 1.3 the server checks our certificate after we sent the request and before it reads it.
  const unread = !sent || state === refusedCertificate;
  if (unread) {
    return new KubeError("Unreachable", `Cannot reach "${server}": ${state ?? messageOf(cause)}`, { cause });
  }
  const message = `Cannot finish ${request}: the connection broke before the response was complete: ${messageOf(cause)}`;
  return new KubeError("Interrupted", message, { cause });
}

function codeOf(cause: unknown): string {
  const code = (cause as { code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : "";
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function wrongName(cause: unknown): string {
  const { host, cert } = cause as { host?: string; cert?: { subjectaltname?: string } };
  const names = cert?.subjectaltname ?? "no name";
  return `its certificate is for ${names}, not for "${host}": use one of these names, or give it as tls-server-name`;
}
