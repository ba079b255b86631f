import { type Secret, sandboxes } from "@agent-sandbox/api";
import type { Resource } from "@agent-sandbox/kube";
import type { DataPlaneBox } from "./data-plane-box.ts";

/** The current address of the sandbox's pod. */
export async function podAddress(box: DataPlaneBox, name: string): Promise<string> {
  const client = await box.client();
  const { status } = await client.get(sandboxes, { namespace: "default", name });
  const [address] = status?.podIPs ?? [];
  if (address === undefined) throw new Error(`sandbox "${name}" has no address`);
  return address;
}

/** The headers of a request that names this sandbox. */
export async function identityOf(box: DataPlaneBox, name: string): Promise<Record<string, string>> {
  const client = await box.client();
  const { metadata } = await client.get(sandboxes, { namespace: "default", name });
  return { "x-sandbox-id": name, "x-sandbox-namespace": "default", "x-sandbox-uid": metadata.uid ?? "" };
}

const secrets: Resource<Secret> = { apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true };

/** The token of the sandbox's runtime. */
export async function runtimeToken(box: DataPlaneBox, name: string): Promise<string> {
  const client = await box.client();
  const { data } = await client.get(secrets, { namespace: "default", name: `${name}-runtime` });
  return Buffer.from(data?.["token"] ?? "", "base64").toString();
}
