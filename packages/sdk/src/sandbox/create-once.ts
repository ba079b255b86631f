import type { Deadline } from "../deadline.ts";
import { isSandboxError } from "../errors.ts";
import type { ApiServer } from "../kube/api-server.ts";
import type { KubeObject, Resource } from "../kube/resources.ts";

/** Names the call that created an object, so that a repeated call recognises its own object. */
export const requestIdAnnotation = "sdk.agents.x-k8s.io/request-id";

/** Creates an object. If it exists because an earlier attempt of the same call created it, returns that. */
export async function createOnce<T extends KubeObject>(
  api: ApiServer,
  resource: Resource<T>,
  object: T,
  deadline: Deadline,
): Promise<T> {
  try {
    return await api.create(resource, object, deadline);
  } catch (error) {
    if (!isSandboxError(error, "AlreadyExists")) throw error;
    const { name = "", namespace = "", annotations = {} } = object.metadata;
    const existing = await api.get(resource, { namespace, name }, deadline);
    if (existing.metadata.annotations?.[requestIdAnnotation] === annotations[requestIdAnnotation]) return existing;
    throw error;
  }
}
