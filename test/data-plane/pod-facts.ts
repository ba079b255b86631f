import { type Secret, sandboxes } from "@agent-sandbox/api";
import type { Resource } from "@agent-sandbox/kube";
import type { DataPlaneBox } from "./data-plane-box.ts";

/** Where the sandbox's pod is now. */
export async function podAddress(box: DataPlaneBox, name: string): Promise<string> {
  const client = await box.client();
  const { status } = await client.get(sandboxes, { namespace: "default", name });
  const [address] = status?.podIPs ?? [];
  if (address === undefined) throw new Error(`sandbox "${name}" has no address`);
  return address;
}

/** The names by which the sandbox knows itself, as headers of a request that means it. */
export async function identityOf(box: DataPlaneBox, name: string): Promise<Record<string, string>> {
  const client = await box.client();
  const { metadata } = await client.get(sandboxes, { namespace: "default", name });
  return { "x-sandbox-id": name, "x-sandbox-namespace": "default", "x-sandbox-uid": metadata.uid ?? "" };
}

const secrets: Resource<Secret> = { apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true };

/** What only the router and the sandbox itself know. */
export async function runtimeToken(box: DataPlaneBox, name: string): Promise<string> {
  const client = await box.client();
  const { data } = await client.get(secrets, { namespace: "default", name: `${name}-runtime` });
  return Buffer.from(data?.["token"] ?? "", "base64").toString();
}
