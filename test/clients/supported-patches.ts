import { ApiException, type KubeConfig, KubernetesObjectApi, type PatchStrategy } from "@kubernetes/client-node";

/** Why the server cannot carry out this type of patch, in its own words; undefined when it can. */
export async function whyNoPatch(config: KubeConfig, type: PatchStrategy): Promise<string | undefined> {
  const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } };
  try {
    await KubernetesObjectApi.makeApiClient(config).patch(body, undefined, "All", "probe", undefined, type);
    return undefined;
  } catch (error) {
    if (error instanceof ApiException && error.code === 415) return `the server does not support it yet: ${error.body}`;
    throw error;
  }
}
