import { sandboxSnapshots } from "@agent-sandbox/api";
import { annotationOf, faceLabel, templateAnnotation } from "../../cluster/compat-annotations.ts";
import { find } from "../../cluster/machine.ts";
import { isName } from "../../cluster/names.ts";
import type { Account } from "../../keys/accounts.ts";

/** Clients use the id of a snapshot as a template. Undefined if `name` is not a snapshot that one of them took. */
export async function snapshotSource(
  { client, namespace }: Account,
  name: string,
): Promise<{ readonly snapshot: string; readonly template: string } | undefined> {
  // Only names that `newName` makes: other templates cost no request.
  if (!isName(name) || !/^[a-z][a-z0-9]{19}$/.test(name)) return undefined;
  const found = await find(client, sandboxSnapshots, { namespace, name });
  const template = annotationOf(found, templateAnnotation);
  const isThere = found !== undefined && found.metadata.deletionTimestamp === undefined;
  return isThere && found.metadata.labels?.[faceLabel] === "e2b" && template !== undefined
    ? { snapshot: name, template }
    : undefined;
}
