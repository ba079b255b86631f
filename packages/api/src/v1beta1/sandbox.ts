import * as z from "zod";
import type { ObjectMeta } from "../kubernetes.ts";
import { type Condition, condition } from "../shapes/condition.ts";
import { type ShutdownPolicy, shutdownPolicies } from "../shapes/expiry.ts";
import { dateTime, defaulted, listOf, objectOf, text } from "../shapes/object-schema.ts";
import { blueprintFields, type SandboxBlueprint } from "./blueprint.ts";
import { type SuspensionStatus, suspensionStatus } from "./suspension.ts";

/** Only the exact value `Suspended` suspends. */
export const operatingModes = ["Running", "Suspended"] as const;
export type OperatingMode = (typeof operatingModes)[number];

export interface SandboxSpec extends SandboxBlueprint {
  /** RFC 3339; absent: never expires. */
  shutdownTime?: string;
  shutdownPolicy?: ShutdownPolicy;
  operatingMode?: OperatingMode;
}

export interface SandboxStatus {
  /** Name of the headless Service. */
  service?: string;
  serviceFQDN?: string;
  conditions?: Condition[];
  /** Selects the Pod of this Sandbox. */
  selector?: string;
  podIPs?: string[];
  nodeName?: string;
  /** When the Sandbox was last used. RFC 3339. */
  lastActivityTime?: string;
  suspension?: SuspensionStatus;
}

/** One isolated, stateful, singleton workload. */
export interface Sandbox {
  apiVersion: "agents.x-k8s.io/v1beta1";
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
  operatingMode: defaulted<OperatingMode>(z.enum(operatingModes), "Running").describe(
    "Whether the Sandbox runs. With Suspended its Pod is deleted and its volumes are kept.",
  ),
}).meta({
  "x-kubernetes-validations": [
    {
      message: "volumeClaimTemplates is immutable",
      rule:
        "has(self.volumeClaimTemplates) == has(oldSelf.volumeClaimTemplates) && " +
        "(!has(self.volumeClaimTemplates) || self.volumeClaimTemplates == oldSelf.volumeClaimTemplates)",
    },
  ],
});

export const sandboxStatus: z.ZodType<SandboxStatus> = objectOf<SandboxStatus>({
  service: text.exactOptional().describe("The name of the headless Service, if it has one."),
  serviceFQDN: text.exactOptional().describe("The fully qualified DNS name of that Service."),
  conditions: listOf(condition)
    .exactOptional()
    .describe(
      "Ready is True if the Sandbox can be used; otherwise its reason says why not. Further types are Suspended, PodScheduled and Finished.",
    ),
  selector: text.exactOptional().describe("The label selector of its Pod."),
  podIPs: listOf(text).exactOptional().describe("The IP addresses of its Pod, while it has one."),
  nodeName: text.exactOptional().describe("The node that its Pod runs on."),
  lastActivityTime: dateTime
    .exactOptional()
    .describe("When the Sandbox was last used, as far as its idle policy needs to know."),
  suspension: suspensionStatus
    .exactOptional()
    .describe("What the last suspension kept, and what the last resume restored."),
});
