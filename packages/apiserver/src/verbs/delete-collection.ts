import { badRequest } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";
import type { Query } from "../request/query.ts";
import type { Target } from "../request/target.ts";
import { toVersion } from "../resources/versions.ts";
import type { ApiContext } from "./context.ts";
import { remove } from "./delete.ts";
import type { DeleteOptions } from "./delete-options.ts";
import { parseSelection } from "./selection.ts";

/** Concurrent deletions: enough to fill a commit, and a bound on memory. */
const concurrency = 256;

/**
 * Deletes all matching objects and returns them as they were. Objects that were deleted or replaced by somebody else in
 * the meantime are skipped.
 */
export async function deleteCollection(
  context: ApiContext,
  target: Target,
  { query, options }: { query: Query; options: DeleteOptions },
): Promise<ApiObject[]> {
  const { definition, version, namespace } = target;
  if (definition.namespaced && namespace === undefined) throw badRequest("the path must name a namespace to delete in");
  const selection = parseSelection(query, definition);
  const prefix = namespace === undefined ? "" : `${namespace}/`;
  const found = [...context.store.list(definition.id, prefix)].filter((stored) => selection.matches(stored));
  for (let at = 0; at < found.length; at += concurrency) {
    const batch = found.slice(at, at + concurrency).map(async ({ object }) => {
      const { name = "", uid } = object.metadata;
      await remove(context, { ...target, name }, { ...options, uid }).catch(ignoreGone);
    });
    await Promise.all(batch);
  }
  return found.map(({ object }) => toVersion(definition, object, version));
}

function ignoreGone(error: unknown): undefined {
  const reason = (error as { reason?: unknown }).reason;
  if (reason === "NotFound" || reason === "Conflict") return undefined;
  throw error;
}
