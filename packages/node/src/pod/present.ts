import type { Pod } from "@agent-sandbox/api";
import { NodeError } from "../errors.ts";
import type { Observed } from "./decide.ts";
import type { PodRecord } from "./record.ts";

/** The Pod of an action that needs it in the API. */
export function podOf({ pod }: Observed): Pod {
  if (pod === undefined) throw new NodeError("SandboxError", "Cannot act on a Pod that is deleted");
  return pod;
}

/** The record of an action that needs one. */
export function recordOf({ record }: Observed): PodRecord {
  if (record === undefined) throw new NodeError("SandboxError", "Cannot act on a Pod without a record");
  return record;
}
