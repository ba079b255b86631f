import type { ApiObject } from "../api-object.ts";
import { recordUpdate } from "../apply/record-update.ts";
import { withoutManagedFields } from "../apply/versioned.ts";
import { timestamp } from "../clock.ts";
import type { Target } from "../request/target.ts";
import { toVersion } from "../resources/versions.ts";
import type { ApiContext } from "./context.ts";

export interface OwnedWrite {
  readonly target: Target;
  readonly manager: string;
  /** The subresource to record. Default: that of the target. */
  readonly subresource?: string | undefined;
  readonly nowMs: number;
  /** The current object in the version of the request; `undefined` for a create. */
  readonly live: ApiObject | undefined;
  readonly context: Pick<ApiContext, "interner" | "kinds">;
}

/** Sets the `managedFields` of an object that is about to be stored. `next` has its defaults and is in the stored version. */
export function recordOwner(write: OwnedWrite, next: ApiObject): ApiObject {
  const { target, manager, live, nowMs, context } = write;
  const { interner, kinds } = context;
  const { definition, version, subresource = write.subresource } = target;
  const shown = toVersion(definition, next, version);
  const kind = kinds.of(target);
  const recorded = recordUpdate({ kind, manager, subresource, now: timestamp(nowMs), live, next: shown }, interner);
  if (shown === next) return recorded;
  const { managedFields } = recorded.metadata;
  if (managedFields === undefined) return withoutManagedFields(next);
  return { ...next, metadata: { ...next.metadata, managedFields } };
}
