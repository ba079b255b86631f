import type { Credential } from "../http/cluster-access.ts";

export type ParsedCredential =
  | { readonly credential: Credential; readonly expiresAt: number | undefined }
  | { readonly error: string };

/** Parses the output of an exec plugin, a `client.authentication.k8s.io` ExecCredential. */
export function parseExecCredential(output: string, apiVersion: string): ParsedCredential {
  let printed: unknown;
  try {
    printed = JSON.parse(output);
  } catch {
    return { error: output.trim() === "" ? "it printed nothing" : "it did not print valid JSON" };
  }
  const { kind, apiVersion: printedVersion, status } = record(printed);
  if (kind !== "ExecCredential") return { error: `it printed a ${JSON.stringify(kind)}, not an ExecCredential` };
  if (printedVersion !== apiVersion) {
    return { error: `it printed version ${JSON.stringify(printedVersion)}, the kubeconfig asks for "${apiVersion}"` };
  }
  return readStatus(record(status));
}

function readStatus(status: Record<string, unknown>): ParsedCredential {
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status;
  for (const [field, value] of Object.entries({ token, clientCertificateData: cert, clientKeyData: key })) {
    if (value !== undefined && typeof value !== "string") return { error: `its status.${field} is not a string` };
  }
  if (Boolean(cert) !== Boolean(key)) {
    return { error: "it printed only one of status.clientCertificateData and status.clientKeyData" };
  }
  if (!token && !cert) return { error: "it printed neither status.token nor a client certificate" };
  const expiresAt = (expirationTimestamp ?? undefined) === undefined ? undefined : parseTime(expirationTimestamp);
  if (Number.isNaN(expiresAt)) {
    return { error: `its status.expirationTimestamp ${JSON.stringify(expirationTimestamp)} is not a valid time` };
  }
  const credential = {
    ...(token ? { authorization: `Bearer ${token as string}` } : {}),
    ...(cert && key ? { certificate: { cert: cert as string, key: key as string } } : {}),
  };
  return { credential, expiresAt };
}

function parseTime(value: unknown): number {
  return typeof value === "string" ? Date.parse(value) : Number.NaN;
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
