import { readFileSync } from "node:fs";
import type { CustomResourceConversion, CustomResourceDefinition } from "@agent-sandbox/api";
import { crds as ours } from "@agent-sandbox/api/crds";
import type { ConversionWebhook } from "./conversion-webhook.ts";
import type { KubernetesServer } from "./start.ts";

export interface CrdInstallation {
  /**
   * The webhook that converts between versions. Without it, only the storage version is served. The manifests in `deploy` refer to
   * a Service, which does not exist in a cluster without nodes.
   */
  readonly webhook?: ConversionWebhook;
  /** Default: our definitions. */
  readonly crds?: readonly CustomResourceDefinition[];
}

/** Creates the definitions and waits until objects of their kinds can be created. */
export async function installCrds(
  kubernetes: KubernetesServer,
  { webhook, crds = ours }: CrdInstallation = {},
): Promise<void> {
  const authority = readFileSync(kubernetes.authority.certificate).toString("base64");
  const items = crds.map((crd) =>
    webhook === undefined ? storedVersionOnly(crd) : convertedBy(crd, { url: webhook.url, caBundle: authority }),
  );
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  await must(kubernetes, ["create", "-f", "-"], list);
  await untilEstablished(
    kubernetes,
    items.map(({ metadata }) => metadata.name ?? ""),
  );
}

const timeoutMs = 60_000;
const establishedNames =
  '{{range .items}}{{$name := .metadata.name}}{{range .status.conditions}}{{if and (eq .type "Established") (eq .status "True")}}{{$name}} {{end}}{{end}}{{end}}';

/** Needed because `kubectl wait` fails for a definition without a status. */
async function untilEstablished(kubernetes: KubernetesServer, names: readonly string[]): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const established = (await must(kubernetes, ["get", "crds", "-o", `go-template=${establishedNames}`])).split(" ");
    const missing = names.filter((name) => !established.includes(name));
    if (missing.length === 0) return;
    if (Date.now() > deadline)
      throw new Error(`Cannot install CRDs "${missing.join(", ")}": not established after ${timeoutMs / 1000} s`);
  }
}

type Webhook = NonNullable<CustomResourceConversion["webhook"]>;

function convertedBy(crd: CustomResourceDefinition, clientConfig: Webhook["clientConfig"]): CustomResourceDefinition {
  const { conversionReviewVersions = ["v1"] } = crd.spec.conversion?.webhook ?? {};
  const webhook = { conversionReviewVersions, clientConfig } as Webhook;
  if (crd.spec.versions.length === 1) return crd;
  return { ...crd, spec: { ...crd.spec, conversion: { strategy: "Webhook", webhook } } };
}

function storedVersionOnly(crd: CustomResourceDefinition): CustomResourceDefinition {
  const versions = crd.spec.versions.filter(({ storage }) => storage);
  return { ...crd, spec: { ...crd.spec, versions, conversion: { strategy: "None" } } };
}

async function must(kubernetes: KubernetesServer, words: readonly string[], stdin = ""): Promise<string> {
  const { code, stdout, stderr } = await kubernetes.kubectl(words, { stdin });
  if (code !== 0) throw new Error(`Cannot install CRDs: kubectl ${words[0]}: ${stderr}`);
  return stdout;
}
