import { mountsUnder } from "./mounts.ts";
import { runCommand } from "./run-command.ts";

/**
 * Removes a folder with all it holds; one that does not exist is fine. Containers wrote what is in it, and one may still be
 * changing it: `rm` opens each folder through the descriptor of the one above and follows no link, where Node's own removal goes
 * by path. What is nested deeper than any path is long goes as well. Fails when something is mounted below: what is mounted may be
 * a volume on the same filesystem, which `--one-file-system` would not spare.
 */
export async function removeTree(path: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
  const [mounted] = await mountsUnder(path);
  if (mounted !== undefined) throw new Error(`Cannot remove "${path}": "${mounted}" is still mounted`);
  const options = { timeoutMs: 600_000, ...(signal && { signal }) };
  await runCommand("rm", ["--recursive", "--force", "--one-file-system", "--", path], options);
}
