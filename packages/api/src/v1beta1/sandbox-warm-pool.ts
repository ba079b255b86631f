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
  selector?: string;
  /** The pool's own generation; an edit of its template does not move it. */
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
  replicas: defaulted(int32(0), 1).describe("How many Sandboxes to keep ready."),
  sandboxTemplateRef: nameReference.describe("The SandboxTemplate that the members are made from."),
  updateStrategy: updateStrategy
    .exactOptional()
    .describe("What happens to the members when the template changes. Absent: they stay until they are claimed."),
});

export const sandboxWarmPoolStatus: z.ZodType<SandboxWarmPoolStatus> = objectOf<SandboxWarmPoolStatus>({
  replicas: int32().exactOptional().describe("How many members there are."),
  readyReplicas: int32().exactOptional().describe("How many of them can be claimed at once."),
  selector: text.exactOptional().describe("The label selector of the members, for autoscalers."),
  observedGeneration: int64(0).exactOptional().describe("The metadata.generation that this status was worked out for."),
  conditions: listOf(condition)
    .exactOptional()
    .describe("Ready says whether the pool is full, TemplateFound whether its template is there."),
});
