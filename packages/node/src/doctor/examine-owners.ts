import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../errors.ts";
import { mountMapped } from "../system/mount-tree.ts";
import { unmount } from "../system/mounts.ts";
import { noOwners, openUserNamespace } from "../system/user-namespace.ts";

/** Why idmapped mounts of a folder do not work, or undefined if they do. */
export async function whyNoMapping(folder: string, scratch: string): Promise<string | undefined> {
  const target = join(scratch, "mapped");
  try {
    await mkdir(target);
    await using namespace = await openUserNamespace({ ids: noOwners });
    mountMapped({ source: folder, target, userNamespace: namespace.fd });
    await unmount([target]);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
