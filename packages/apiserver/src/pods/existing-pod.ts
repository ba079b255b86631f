import { notFound } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";

/** The Pod, or the error that it does not exist. */
export function existingPod(pod: ApiObject | undefined, name: string): ApiObject {
  if (pod === undefined) throw notFound({ group: "", plural: "pods", name });
  return pod;
}
