import { createPrivateKey } from "node:crypto";
import { issueCertificate } from "@agent-sandbox/apiserver";

/** The CRDs with a conversion webhook. */
export const convertedKinds: readonly string[] = [
  "sandboxes.agents.x-k8s.io",
  "sandboxclaims.extensions.agents.x-k8s.io",
  "sandboxtemplates.extensions.agents.x-k8s.io",
  "sandboxwarmpools.extensions.agents.x-k8s.io",
];

const dayMs = 24 * 3_600_000;

/** A certificate of the webhook that was valid a year ago until yesterday, in the form of the Secret and of the CRDs. */
export function expiredCertificate(namespace: string): { secret: Record<string, string>; caBundle: string } {
  const service = "agent-sandbox-webhook-service";
  const name = `${service}.${namespace}`;
  const names = [`${name}.svc`, service, name, `${name}.svc.cluster.local`];
  const validity = { notBeforeMs: Date.now() - 365 * dayMs, notAfterMs: Date.now() - dayMs };
  const commonName = "agent-sandbox-conversion-webhook-ca";
  const authority = issueCertificate({ commonName, ...validity });
  const issuer = { commonName, key: createPrivateKey(authority.key) };
  const { certificate, key } = issueCertificate({ commonName: `${name}.svc`, names, ...validity }, issuer);
  const encoded = (text: string): string => Buffer.from(text).toString("base64");
  const caBundle = encoded(authority.certificate);
  return { secret: { "ca.crt": caBundle, "tls.crt": encoded(certificate), "tls.key": encoded(key) }, caBundle };
}
