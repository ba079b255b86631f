import { mkdirSync } from "node:fs";
import { libc, mountFlags } from "../system/libc.ts";

const folder = "/run/netns";

/**
 * Makes the folder of named network namespaces a shared mount, as the first `ip netns add` of a machine does. That mount would hide the
 * namespaces that the node has bound there before, and nobody could remove them any more.
 */
export function shareNamespaceFolder(): void {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  try {
    share();
  } catch {
    // It is not a mount yet.
    libc().mount(folder, folder, { flags: mountFlags.bind | mountFlags.recursive });
    share();
  }
}

const share = (): void => libc().mount("none", folder, { flags: mountFlags.shared | mountFlags.recursive });
