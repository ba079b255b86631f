import type * as z from "zod";
import type { ObjectMeta } from "../kubernetes.ts";
import { int32, objectOf, text } from "../shapes/object-schema.ts";
import { type NameReference, nameReference, type UpdateStrategy, updateStrategy } from "../shapes/pool-shapes.ts";

export interface SandboxWarmPoolSpec {
  replicas: number;
  sandboxTemplateRef: NameReference;
  updateStrategy?: UpdateStrategy;
}

export interface SandboxWarmPoolStatus {
  replicas?: number;
  readyReplicas?: number;
  selector?: string;
}

export interface SandboxWarmPool {
  apiVersion: "extensions.agents.x-k8s.io/v1alpha1";
  kind: "SandboxWarmPool";
  metadata: ObjectMeta;
  spec: SandboxWarmPoolSpec;
  status?: SandboxWarmPoolStatus;
}

export const sandboxWarmPoolSpec: z.ZodType<SandboxWarmPoolSpec> = objectOf<SandboxWarmPoolSpec>({
  replicas: int32(0).describe("The number of Sandboxes to keep ready."),
  sandboxTemplateRef: nameReference.describe("The SandboxTemplate that the members are created from."),
  updateStrategy: updateStrategy
    .exactOptional()
    .describe("When members are replaced after a change of the template. Absent: OnReplenish."),
});

export const sandboxWarmPoolStatus: z.ZodType<SandboxWarmPoolStatus> = objectOf<SandboxWarmPoolStatus>({
  replicas: int32().exactOptional().describe("The number of members."),
  readyReplicas: int32().exactOptional().describe("The number of members that are ready to be claimed."),
  selector: text.exactOptional().describe("The label selector of the members, for autoscalers."),
});
