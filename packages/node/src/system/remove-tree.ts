import { runCommand } from "./run-command.ts";

/**
 * Removes a folder with all it holds. What containers wrote may be nested deeper than any path is long, which Node's own
 * removal cannot follow; and nothing that is still mounted below is touched.
 */
export async function removeTree(path: string): Promise<void> {
  await runCommand("rm", ["--recursive", "--force", "--one-file-system", "--", path], { timeoutMs: 600_000 });
}
