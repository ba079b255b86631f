import { createPrivateKey, X509Certificate } from "node:crypto";
import type { Secret } from "@agent-sandbox/api";
import { type Client, isReason } from "@agent-sandbox/kube";
import { secrets } from "../child-caches.ts";
import { guardOf } from "../guard.ts";
import type { ManagerFlags } from "./flag-table.ts";

/** PEM. */
export interface ServingPair {
  /** One or more certificate authorities. */
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
}

/** Creates an authority and a certificate for these names. The authority's key is discarded. */
export type IssueServingPair = (request: {
  readonly authorityName: string;
  readonly names: readonly string[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}) => ServingPair;

export interface IssueOptions {
  readonly issue: IssueServingPair;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

type PairFlags = Pick<ManagerFlags, "cluster-domain" | "webhook-service-name" | "webhook-namespace">;

const secretName = "agent-sandbox-webhook-certs";
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Early enough that every replica has the new certificate before the old one expires. */
const renewedBeforeMs = 30 * dayMs;
/** How often a write may conflict with other replicas. */
const mostAttempts = 5;

/** Returns the certificate in the shared Secret if it is valid, and otherwise creates and stores a new one. */
export async function sharedPair(
  client: Client,
  flags: PairFlags,
  { issue, nowMs }: IssueOptions,
): Promise<ServingPair> {
  const key = { namespace: flags["webhook-namespace"], name: secretName };
  const names = namesOf(flags);
  for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
    const found = await client.get(secrets, key).catch(unless("NotFound"));
    const old = found && readSecret(found);
    if (old !== undefined && isGood(old, names, nowMs)) return old;
    const made = issue({
      authorityName: "agent-sandbox-conversion-webhook-ca",
      names,
      notBeforeMs: nowMs - hourMs,
      notAfterMs: nowMs + 365 * dayMs,
    });
    const data = dataOf(old === undefined ? made : { ...made, authority: `${made.authority}${issuerOf(old)}` });
    const written =
      found === undefined
        ? client.create(secrets, { apiVersion: "v1", kind: "Secret", metadata: key, type: "Opaque", data })
        : client.patch(secrets, key, { type: "merge", body: { data }, preconditions: guardOf(found) });
    const secret = await written.catch(unless("AlreadyExists", "Conflict", "NotFound"));
    if (secret !== undefined) return readSecret(secret);
  }
  throw new Error(`Cannot renew Secret "${secretName}": it was changed concurrently ${mostAttempts} times`);
}

/** For `catch`: ignores errors that a write of another replica explains. */
function unless(...reasons: Parameters<typeof isReason>[1][]): (error: unknown) => undefined {
  return (error) => {
    if (!reasons.some((reason) => isReason(error, reason))) throw error;
    return undefined;
  };
}

/** The first becomes the certificate's common name. */
function namesOf(flags: PairFlags): string[] {
  const service = flags["webhook-service-name"];
  const inNamespace = `${service}.${flags["webhook-namespace"]}`;
  return [`${inNamespace}.svc`, service, inNamespace, `${inNamespace}.svc.${flags["cluster-domain"]}`];
}

/** Whether the certificate matches its authority, key and names, and does not expire soon. */
function isGood(pair: ServingPair, names: readonly string[], nowMs: number): boolean {
  const certificate = new X509Certificate(pair.certificate);
  return (
    Date.parse(certificate.validTo) - renewedBeforeMs > nowMs &&
    names.every((name) => certificate.checkHost(name) !== undefined) &&
    certificate.checkPrivateKey(createPrivateKey(pair.key)) &&
    issuerOf(pair) !== ""
  );
}

/** The authority that signed the certificate. It stays trusted while replicas still serve the old certificate. */
function issuerOf({ authority, certificate }: ServingPair): string {
  const signed = new X509Certificate(certificate);
  const each = authority.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----\n?/g) ?? [];
  return each.find((text) => signed.verify(new X509Certificate(text).publicKey)) ?? "";
}

function readSecret({ data = {} }: Secret): ServingPair {
  const read = (name: string, parse: (text: string) => unknown): string => {
    const text = Buffer.from(data[name] ?? "", "base64").toString("utf8");
    try {
      parse(text);
    } catch (error) {
      const advice = "delete the Secret to create a new one";
      throw new Error(`Cannot use Secret "${secretName}": ${name} is not valid PEM; ${advice}`, { cause: error });
    }
    return text;
  };
  const certificate = (text: string): unknown => new X509Certificate(text);
  return {
    authority: read("ca.crt", certificate),
    certificate: read("tls.crt", certificate),
    key: read("tls.key", createPrivateKey),
  };
}

function dataOf({ authority, certificate, key }: ServingPair): Record<string, string> {
  const texts = { "ca.crt": authority, "tls.crt": certificate, "tls.key": key };
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString("base64")]));
}
