import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { hasCode } from "../errors.ts";
import type { OciMount, OciSpec } from "../oci/spec.ts";

/**
 * runsc mounts a tmpfs on an empty or missing /tmp, unless the specification has a mount for it. It skips mounts of a filesystem that
 * it does not know. So this mount only keeps /tmp a folder of the root filesystem: it survives a suspension, and counts against
 * the disk limit and not against the memory limit.
 */
const noTmpfs: OciMount = { destination: "/tmp", type: "rootfs", source: "none", options: ["rw"] };

/**
 * Keeps runsc from mounting a tmpfs on /tmp. A container whose root filesystem is read-only still gets the tmpfs, since it could not
 * write to /tmp otherwise. A mount of the Pod at /tmp stays as it is.
 */
export function keepTmpOnRoot(spec: OciSpec): OciSpec {
  const isMounted = spec.mounts.some(({ destination }) => destination === noTmpfs.destination);
  if (isMounted || spec.root.readonly) return spec;
  makeTmp(join(spec.root.path, noTmpfs.destination));
  return { ...spec, mounts: [...spec.mounts, noTmpfs] };
}

/** Images without /tmp get one, as they do from the tmpfs. Neither call follows a link that a container left there. */
function makeTmp(path: string): void {
  try {
    mkdirSync(path);
    // The mode given to mkdir is subject to the umask. The folder is new, and no container runs yet.
    chmodSync(path, 0o1777);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  }
}
