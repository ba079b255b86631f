import type { ClusterAccess } from "../client/http/cluster-access.ts";
import { ConfigProblem } from "./fields.ts";

/** Access to a cluster, or a sentence that describes the configuration error. */
export type LoadedAccess =
  | { readonly access: ClusterAccess; readonly error?: undefined }
  | { readonly error: string; readonly access?: undefined };

export async function asLoaded(load: () => Promise<ClusterAccess>): Promise<LoadedAccess> {
  try {
    return { access: await load() };
  } catch (error) {
    if (error instanceof ConfigProblem) return { error: error.message };
    throw error;
  }
}
