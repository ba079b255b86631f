import type { CustomResourceDefinition } from "@agent-sandbox/api";
import { type Client, isReason, type Resource } from "@agent-sandbox/kube";
import type { ManagerFlags } from "./flag-table.ts";

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

export interface Trusted {
  readonly flags: Pick<ManagerFlags, "webhook-service-name" | "webhook-namespace">;
  /** PEM. */
  readonly authority: string;
}

/** Configures the webhook's Service and authority in our CRDs that use a conversion webhook. */
export async function trustWebhook(client: Client, trusted: Trusted): Promise<void> {
  for (const name of definitionNames) await trust(client, name, trusted);
}

async function trust(client: Client, name: string, { flags, authority }: Trusted): Promise<void> {
  try {
    const { spec } = await client.get(definitions, { name });
    if (spec.conversion?.strategy !== "Webhook") return;
    const { clientConfig, conversionReviewVersions: versions = [] } = spec.conversion.webhook ?? {};
    const caBundle = Buffer.from(authority).toString("base64");
    const service = { name: flags["webhook-service-name"], namespace: flags["webhook-namespace"], path: "/convert" };
    const found = clientConfig?.service;
    const isThere =
      clientConfig?.caBundle === caBundle &&
      found?.name === service.name &&
      found.namespace === service.namespace &&
      found.path === service.path;
    if (isThere && versions.length > 0) return;
    const webhook = {
      clientConfig: { service, caBundle },
      ...(versions.length === 0 && { conversionReviewVersions: ["v1"] }),
    };
    await client.patch(definitions, { name }, { type: "merge", body: { spec: { conversion: { webhook } } } });
  } catch (error) {
    if (!isReason(error, "NotFound")) throw error;
  }
}
