import * as z from "zod";
import type { ObjectMeta } from "../kubernetes.ts";
import { type Condition, condition } from "../shapes/condition.ts";
import { type ShutdownPolicy, shutdownPolicies } from "../shapes/expiry.ts";
import { dateTime, defaulted, listOf, objectOf, text } from "../shapes/object-schema.ts";
import { blueprintFields, type SandboxBlueprint } from "./blueprint.ts";

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
  /** When traffic or a command last touched the Sandbox. RFC 3339. */
  lastActivityTime?: string;
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
    "Whether the Sandbox goes or stays when it expires. Its Pod and Service go either way.",
  ),
  operatingMode: defaulted<OperatingMode>(z.enum(operatingModes), "Running").describe(
    "Whether the Sandbox runs. Suspended removes its Pod and keeps its volumes.",
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
  service: text.exactOptional().describe("The name of the headless Service, if there is one."),
  serviceFQDN: text.exactOptional().describe("The name under which that Service is found by DNS."),
  conditions: listOf(condition)
    .exactOptional()
    .describe(
      "Ready says whether the Sandbox can be used, and if not, why. Suspended, PodScheduled and Finished say more.",
    ),
  selector: text.exactOptional().describe("The label selector of its Pod."),
  podIPs: listOf(text).exactOptional().describe("The addresses of its Pod while there is one."),
  nodeName: text.exactOptional().describe("The node that its Pod is on."),
  lastActivityTime: dateTime.exactOptional().describe("When it was last used, by traffic or by a command."),
});
