import * as z from "zod";
import type { ObjectMeta } from "../kubernetes.ts";
import { type Condition, condition } from "../shapes/condition.ts";
import { type ShutdownPolicy, shutdownPolicies } from "../shapes/expiry.ts";
import { dateTime, defaulted, int32, listOf, objectOf, text } from "../shapes/object-schema.ts";
import { blueprintFields, type SandboxBlueprint } from "./blueprint.ts";

export interface SandboxSpec extends SandboxBlueprint {
  /** RFC 3339; absent: never expires. */
  shutdownTime?: string;
  shutdownPolicy?: ShutdownPolicy;
  /** 0 suspends, 1 runs. */
  replicas?: number;
}

export interface SandboxStatus {
  service?: string;
  serviceFQDN?: string;
  conditions?: Condition[];
  replicas?: number;
  selector?: string;
  podIPs?: string[];
}

export interface Sandbox {
  apiVersion: "agents.x-k8s.io/v1alpha1";
  kind: "Sandbox";
  metadata: ObjectMeta;
  spec: SandboxSpec;
  status?: SandboxStatus;
}

export const sandboxSpec: z.ZodType<SandboxSpec> = objectOf<SandboxSpec>({
  ...blueprintFields,
  shutdownTime: dateTime.exactOptional().describe("When the Sandbox expires, in RFC 3339. Absent: never."),
  shutdownPolicy: defaulted<ShutdownPolicy>(z.enum(shutdownPolicies), "Retain").describe(
    "What happens when the Sandbox expires. Delete deletes the Sandbox, Retain keeps the object. Its Pod and Service are deleted in both cases.",
  ),
  replicas: defaulted(int32(0, 1), 1).describe(
    "Whether the Sandbox runs: with 1 it runs, with 0 its Pod is deleted and its volumes are kept.",
  ),
});

export const sandboxStatus: z.ZodType<SandboxStatus> = objectOf<SandboxStatus>({
  service: text.exactOptional().describe("The name of the headless Service, if it has one."),
  serviceFQDN: text.exactOptional().describe("The fully qualified DNS name of that Service."),
  conditions: listOf(condition)
    .exactOptional()
    .describe(
      "Ready is True if the Sandbox can be used; otherwise its reason says why not. Further types are Suspended, PodScheduled and Finished.",
    ),
  replicas: int32(0).exactOptional().describe("1 if the Sandbox is to run, else 0."),
  selector: text.exactOptional().describe("The label selector of its Pod."),
  podIPs: listOf(text).exactOptional().describe("The IP addresses of its Pod, while it has one."),
});
