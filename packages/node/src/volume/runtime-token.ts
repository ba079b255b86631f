import { chown, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Container, type Pod, runtimeTokenKey, runtimeTokenVolume } from "@agent-sandbox/api";

/**
 * Gives the token of the injected runtime to the user that the container runs as. The controller knows that user only if the Pod names
 * it, but many images set one of their own, and the files of a Secret belong to root.
 *
 * Only the file of a Secret is changed, which containers cannot write, and only for the first container, which has the runtime.
 */
export async function ownRuntimeToken(
  pod: Pod,
  container: Container,
  folder: string | undefined,
  uid: number,
): Promise<void> {
  const isSecret = pod.spec?.volumes?.some(({ name, secret }) => name === runtimeTokenVolume && secret !== undefined);
  const isFirst = pod.spec?.containers[0]?.name === container.name;
  if (folder === undefined || uid === 0 || !isSecret || !isFirst) return;
  const file = join(folder, runtimeTokenKey);
  const found = await stat(file).catch(() => undefined);
  if (found === undefined || found.uid === uid || (found.mode & 0o044) !== 0) return;
  await chown(file, uid, found.gid);
}
