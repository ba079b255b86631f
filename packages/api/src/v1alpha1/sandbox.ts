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
    "Whether the Sandbox goes or stays when it expires. Its Pod and Service go either way.",
  ),
  replicas: defaulted(int32(0, 1), 1).describe(
    "Whether the Sandbox runs: 1 does, 0 removes its Pod and keeps its volumes.",
  ),
});

export const sandboxStatus: z.ZodType<SandboxStatus> = objectOf<SandboxStatus>({
  service: text.exactOptional().describe("The name of the headless Service, if there is one."),
  serviceFQDN: text.exactOptional().describe("The name under which that Service is found by DNS."),
  conditions: listOf(condition)
    .exactOptional()
    .describe(
      "Ready says whether the Sandbox can be used, and if not, why. Suspended, PodScheduled and Finished say more.",
    ),
  replicas: int32(0).exactOptional().describe("1 while there is a Pod, else 0."),
  selector: text.exactOptional().describe("The label selector of its Pod."),
  podIPs: listOf(text).exactOptional().describe("The addresses of its Pod while there is one."),
});
