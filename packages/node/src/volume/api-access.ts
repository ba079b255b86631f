import type { Container, Pod } from "@agent-sandbox/api";
import { NodeError } from "../errors.ts";
import { asksForAccount } from "../network/api-access.ts";
import type { Machine } from "../pod/machine.ts";
import { defaultMode } from "./payload.ts";
import { mountPayload } from "./payload-volume.ts";
import { tokenPayload } from "./token.ts";
import type { MountedVolume, VolumeContext } from "./volume-kind.ts";

/** Not a valid name of a volume, so that a Pod cannot have one of this name. */
export const apiAccessVolume = "kube_api_access";

/** Where clients look for the token, the certificate authority and the namespace. */
const mountPath = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Whether the node adds the volume to a Pod. */
export const hasApiAccess = (pod: Pod, { apiServer }: Pick<Machine, "apiServer">): boolean =>
  apiServer !== undefined && asksForAccount(pod);

/** The token of the Pod's service account, the certificate authority of the API server, and the namespace. */
export async function mountApiAccess(context: VolumeContext): Promise<MountedVolume> {
  const { pod, machine } = context;
  const place = machine.apiServer?.();
  if (place === undefined) throw new NodeError("FailedMount", "the API server does not listen yet");
  const { payload, refreshAt } = await tokenPayload({ path: "token" }, defaultMode, context);
  const file = (text: string) => ({ content: Buffer.from(text), mode: defaultMode });
  const files = new Map([
    ...payload,
    ["ca.crt", file(place.authority)],
    ["namespace", file(pod.metadata?.namespace ?? "")],
  ]);
  return { ...(await mountPayload(files, context, { inMemory: true })), refreshAt };
}

/** The container with the mount, unless it mounts something else there. */
export function withApiAccess(container: Container): Container {
  const { volumeMounts = [] } = container;
  if (volumeMounts.some((mount) => mount.mountPath.replace(/\/+$/, "") === mountPath)) return container;
  return { ...container, volumeMounts: [...volumeMounts, { name: apiAccessVolume, mountPath, readOnly: true }] };
}
