import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../errors.ts";
import { mountMapped } from "../system/mount-tree.ts";
import { unmount } from "../system/mounts.ts";
import { noOwners, openUserNamespace } from "../system/user-namespace.ts";

/** Why the files of a folder cannot be shown as other users' here, or undefined when they can. */
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
