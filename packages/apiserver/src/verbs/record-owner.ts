import type { ApiObject } from "../api-object.ts";
import { recordUpdate } from "../apply/record-update.ts";
import { withoutManagedFields } from "../apply/versioned.ts";
import { timestamp } from "../clock.ts";
import type { Target } from "../request/target.ts";
import { toVersion } from "../resources/versions.ts";
import { kindVersions } from "./kind-versions.ts";

export interface OwnedWrite {
  readonly target: Target;
  /** Who writes. */
  readonly manager: string;
  /** The endpoint that the writer is recorded for. Default: the target's. */
  readonly subresource?: string | undefined;
  readonly nowMs: number;
  /** The object as it is, in the version of the request; `undefined` when it is being created. */
  readonly live: ApiObject | undefined;
}

/** Gives an object that is about to be stored, with all defaults and in the stored version, its owners. */
export function recordOwner(write: OwnedWrite, next: ApiObject): ApiObject {
  const { target, manager, live, nowMs } = write;
  const { definition, version, subresource = write.subresource } = target;
  const shown = toVersion(definition, next, version);
  const kind = kindVersions(target);
  const recorded = recordUpdate({ kind, manager, subresource, now: timestamp(nowMs), live, next: shown });
  if (shown === next) return recorded;
  const { managedFields } = recorded.metadata;
  if (managedFields === undefined) return withoutManagedFields(next);
  return { ...next, metadata: { ...next.metadata, managedFields } };
}
