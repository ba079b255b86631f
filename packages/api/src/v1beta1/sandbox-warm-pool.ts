import type * as z from "zod";
import type { ObjectMeta } from "../kubernetes.ts";
import { type Condition, condition } from "../shapes/condition.ts";
import { defaulted, int32, int64, listOf, objectOf, text } from "../shapes/object-schema.ts";
import { type NameReference, nameReference, type UpdateStrategy, updateStrategy } from "../shapes/pool-shapes.ts";

export interface SandboxWarmPoolSpec {
  replicas?: number;
  sandboxTemplateRef: NameReference;
  /** Absent: OnReplenish. */
  updateStrategy?: UpdateStrategy;
}

export interface SandboxWarmPoolStatus {
  replicas?: number;
  readyReplicas?: number;
  /** Members that the template would not create today. Absent: none. */
  outdatedReplicas?: number;
  selector?: string;
  /** The generation of the pool. It does not change when the template is edited. */
  observedGeneration?: number;
  /** `Ready` and `TemplateFound`. */
  conditions?: Condition[];
}

/** Keeps a number of Sandboxes ready to be claimed. */
export interface SandboxWarmPool {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1";
  kind: "SandboxWarmPool";
  metadata: ObjectMeta;
  spec: SandboxWarmPoolSpec;
  status?: SandboxWarmPoolStatus;
}

export const sandboxWarmPoolSpec: z.ZodType<SandboxWarmPoolSpec> = objectOf<SandboxWarmPoolSpec>({
  replicas: defaulted(int32(0), 1).describe("The number of Sandboxes to keep ready."),
  sandboxTemplateRef: nameReference.describe("The SandboxTemplate that the members are created from."),
  updateStrategy: updateStrategy
    .exactOptional()
    .describe("When members are replaced after a change of the template. Absent: OnReplenish."),
});

export const sandboxWarmPoolStatus: z.ZodType<SandboxWarmPoolStatus> = objectOf<SandboxWarmPoolStatus>({
  replicas: int32().exactOptional().describe("The number of members."),
  readyReplicas: int32().exactOptional().describe("The number of members that are ready to be claimed."),
  outdatedReplicas: int32(0)
    .exactOptional()
    .describe("The number of members that were created from an older version of the template. Absent: none."),
  selector: text.exactOptional().describe("The label selector of the members, for autoscalers."),
  observedGeneration: int64(0).exactOptional().describe("The metadata.generation that this status is based on."),
  conditions: listOf(condition)
    .exactOptional()
    .describe("Ready is True if the pool has all its members ready. TemplateFound is True if its template exists."),
});
