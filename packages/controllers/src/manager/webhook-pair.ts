import { createPrivateKey, X509Certificate } from "node:crypto";
import type { Secret } from "@agent-sandbox/api";
import { type Client, isReason } from "@agent-sandbox/kube";
import { secrets } from "../child-caches.ts";
import { guardOf } from "../guard.ts";
import type { ManagerFlags } from "./flag-table.ts";

/** PEM. */
export interface ServingPair {
  /** May hold several: what any of them signed is trusted. */
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
}

/** Makes an authority, and a certificate of it for these names; the authority's key is kept by nobody. */
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
/** Long before it is over, so that every replica has the next one by then. */
const renewedBeforeMs = 30 * dayMs;
/** As often other replicas may be faster. */
const mostAttempts = 5;

/** The pair that all replicas share: the one in its Secret while that is good, else a new one put there. */
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
  throw new Error(`Cannot renew Secret "${secretName}": others changed it ${mostAttempts} times meanwhile`);
}

/** For `catch`: what another replica's write explains is looked at again. */
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

/** Whether an API server that trusts the authority can talk to whoever has the rest, for a while yet. */
function isGood(pair: ServingPair, names: readonly string[], nowMs: number): boolean {
  const certificate = new X509Certificate(pair.certificate);
  return (
    Date.parse(certificate.validTo) - renewedBeforeMs > nowMs &&
    names.every((name) => certificate.checkHost(name) !== undefined) &&
    certificate.checkPrivateKey(createPrivateKey(pair.key)) &&
    issuerOf(pair) !== ""
  );
}

/** The authority that signed the pair's certificate. Replicas that still serve it must be trusted until they have the next. */
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
      const advice = "delete the Secret to have a new one made";
      throw new Error(`Cannot use Secret "${secretName}": ${name} is no PEM; ${advice}`, { cause: error });
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
