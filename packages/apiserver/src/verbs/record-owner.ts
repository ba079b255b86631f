import type { ApiObject } from "../api-object.ts";
import { recordUpdate } from "../apply/record-update.ts";
import { withoutManagedFields } from "../apply/versioned.ts";
import { timestamp } from "../clock.ts";
import type { Interner } from "../interner.ts";
import type { Target } from "../request/target.ts";
import { toVersion } from "../resources/versions.ts";
import { kindVersions } from "./kind-versions.ts";

export interface OwnedWrite {
  readonly target: Target;
  readonly manager: string;
  /** The subresource to record. Default: that of the target. */
  readonly subresource?: string | undefined;
  readonly nowMs: number;
  /** The current object in the version of the request; `undefined` for a create. */
  readonly live: ApiObject | undefined;
  readonly interner: Interner;
}

/** Sets the `managedFields` of an object that is about to be stored. `next` has its defaults and is in the stored version. */
export function recordOwner(write: OwnedWrite, next: ApiObject): ApiObject {
  const { target, manager, live, nowMs, interner } = write;
  const { definition, version, subresource = write.subresource } = target;
  const shown = toVersion(definition, next, version);
  const kind = kindVersions(target);
  const recorded = recordUpdate({ kind, manager, subresource, now: timestamp(nowMs), live, next: shown }, interner);
  if (shown === next) return recorded;
  const { managedFields } = recorded.metadata;
  if (managedFields === undefined) return withoutManagedFields(next);
  return { ...next, metadata: { ...next.metadata, managedFields } };
}
