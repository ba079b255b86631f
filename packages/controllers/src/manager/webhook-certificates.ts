import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CustomResourceDefinition, Secret } from "@agent-sandbox/api";
import { type Client, isReason, type Resource } from "@agent-sandbox/kube";
import { secrets } from "../child-caches.ts";
import type { ManagerFlags } from "./flag-table.ts";
import type { CertificateFiles } from "./webhook-server.ts";

/** PEM. */
export interface ServingPair {
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

type WebhookFlags = Pick<
  ManagerFlags,
  | "cluster-domain"
  | "extensions"
  | "webhook-cert-dir"
  | "webhook-cert-name"
  | "webhook-key-name"
  | "webhook-service-name"
  | "webhook-namespace"
>;

const secretName = "agent-sandbox-webhook-certs";
const definitions: Resource<CustomResourceDefinition> = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};
const definitionNames = [
  "sandboxes.agents.x-k8s.io",
  "sandboxclaims.extensions.agents.x-k8s.io",
  "sandboxtemplates.extensions.agents.x-k8s.io",
  "sandboxwarmpools.extensions.agents.x-k8s.io",
];
const hourMs = 3_600_000;

/** The pair that all replicas share: read from its Secret, or made and put there; then in files, and trusted by the CRDs. */
export async function manageCertificates(
  client: Client,
  flags: WebhookFlags,
  { issue, nowMs }: { readonly issue: IssueServingPair; readonly nowMs: number },
): Promise<CertificateFiles> {
  const pair = await sharedPair(client, flags, () => issue(requestOf(flags, nowMs)));
  const folder = flags["webhook-cert-dir"];
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const files = { certificate: join(folder, "tls.crt"), key: join(folder, "tls.key") };
  await writeFile(files.certificate, pair.certificate, { mode: 0o600 });
  await writeFile(files.key, pair.key, { mode: 0o600 });
  for (const name of definitionNames) await trust(client, name, { flags, authority: pair.authority });
  return files;
}

function requestOf(flags: WebhookFlags, nowMs: number): Parameters<IssueServingPair>[0] {
  const service = flags["webhook-service-name"];
  const inNamespace = `${service}.${flags["webhook-namespace"]}`;
  // The first becomes the certificate's common name.
  const names = [`${inNamespace}.svc`, service, inNamespace, `${inNamespace}.svc.${flags["cluster-domain"]}`];
  const authorityName = "agent-sandbox-conversion-webhook-ca";
  return { authorityName, names, notBeforeMs: nowMs - hourMs, notAfterMs: nowMs + 365 * 24 * hourMs };
}

async function sharedPair(client: Client, flags: WebhookFlags, make: () => ServingPair): Promise<ServingPair> {
  const key = { namespace: flags["webhook-namespace"], name: secretName };
  try {
    return readSecret(await client.get(secrets, key));
  } catch (error) {
    if (!isReason(error, "NotFound")) throw error;
  }
  const { authority, certificate, key: privateKey } = make();
  const texts = { "ca.crt": authority, "tls.crt": certificate, "tls.key": privateKey };
  const data = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, encode(text)]));
  try {
    const made: Secret = { apiVersion: "v1", kind: "Secret", metadata: key, type: "Opaque", data };
    return readSecret(await client.create(secrets, made));
  } catch (error) {
    if (!isReason(error, "AlreadyExists")) throw error;
  }
  return readSecret(await client.get(secrets, key));
}

function readSecret({ data = {} }: Secret): ServingPair {
  const read = (name: string): string => {
    const text = Buffer.from(data[name] ?? "", "base64").toString("utf8");
    if (!/-----BEGIN [A-Z ]+-----[\s\S]+-----END [A-Z ]+-----/.test(text)) {
      throw new Error(`Cannot use Secret "${secretName}": ${name} is no PEM; delete the Secret to have a new one made`);
    }
    return text;
  };
  return { authority: read("ca.crt"), certificate: read("tls.crt"), key: read("tls.key") };
}

const encode = (text: string): string => Buffer.from(text).toString("base64");

async function trust(
  client: Client,
  name: string,
  { flags, authority }: { readonly flags: WebhookFlags; readonly authority: string },
): Promise<void> {
  try {
    const { spec } = await client.get(definitions, { name });
    if (spec.conversion?.strategy !== "Webhook") return;
    const service = {
      name: flags["webhook-service-name"],
      namespace: flags["webhook-namespace"],
      path: "/convert",
    };
    const versions = spec.conversion.webhook?.conversionReviewVersions ?? [];
    const webhook = {
      clientConfig: { service, caBundle: encode(authority) },
      ...(versions.length === 0 && { conversionReviewVersions: ["v1"] }),
    };
    await client.patch(definitions, { name }, { type: "merge", body: { spec: { conversion: { webhook } } } });
  } catch (error) {
    if (!isReason(error, "NotFound")) throw error;
  }
}

/** The files that someone else keeps. One combined `cert.pem` will do when neither default is there. */
export async function findCertificates(flags: WebhookFlags): Promise<CertificateFiles> {
  const folder = flags["webhook-cert-dir"];
  const [certificate, key] = [join(folder, flags["webhook-cert-name"]), join(folder, flags["webhook-key-name"])];
  const [hasCertificate, hasKey] = [await isFile(certificate), await isFile(key)];
  if (hasCertificate && hasKey) return { certificate, key };
  const areDefault = flags["webhook-cert-name"] === "tls.crt" && flags["webhook-key-name"] === "tls.key";
  const combined = join(folder, "cert.pem");
  if (areDefault && !hasCertificate && !hasKey && (await isFile(combined)))
    return { certificate: combined, key: combined };
  throw new Error(`Cannot serve the webhook: there is no ${hasCertificate ? `"${key}"` : `"${certificate}"`}`);
}

/** Throws for what is there and is no file. */
async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new Error(`Cannot serve the webhook: "${path}": ${error.message}`, { cause: error });
  });
  if (found !== undefined && !found.isFile()) throw new Error(`Cannot serve the webhook: "${path}" is no file`);
  return found !== undefined;
}
