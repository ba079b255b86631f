import { mountsUnder } from "./mounts.ts";
import { runCommand } from "./run-command.ts";

/**
 * Removes a folder that containers have written, if it exists. A container may still be changing it, so this uses `rm`, which
 * walks by descriptors and follows no links; Node's `rm` walks by path. It also removes trees that are deeper than PATH_MAX.
 * Throws if something is mounted below: it may be a volume on the same filesystem, which `--one-file-system` would delete.
 */
export async function removeTree(path: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
  const [mounted] = await mountsUnder(path);
  if (mounted !== undefined) throw new Error(`Cannot remove "${path}": "${mounted}" is still mounted`);
  const options = { timeoutMs: 600_000, ...(signal && { signal }) };
  await runCommand("rm", ["--recursive", "--force", "--one-file-system", "--", path], options);
}
