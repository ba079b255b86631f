import type { ObjectTarget } from "../request/target.ts";
import type { ApiContext } from "./context.ts";
import type { Written } from "./create.ts";
import { decodeObject, withName } from "./decode.ts";
import { modify } from "./modify.ts";
import type { WriteOptions } from "./write-options.ts";

export async function update(
  context: ApiContext,
  target: ObjectTarget,
  body: unknown,
  options: WriteOptions,
): Promise<Written> {
  const given = withName(decodeObject(body, target), target.name);
  const needsRevision = !target.definition.unconditionalUpdate;
  return modify(context, target, { ...options, needsRevision, wanted: () => given });
}
