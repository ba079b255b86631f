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
  shutdownTime: dateTime.exactOptional(),
  shutdownPolicy: defaulted<ShutdownPolicy>(z.enum(shutdownPolicies), "Retain"),
  replicas: defaulted(int32(0, 1), 1),
});

export const sandboxStatus: z.ZodType<SandboxStatus> = objectOf<SandboxStatus>({
  service: text.exactOptional(),
  serviceFQDN: text.exactOptional(),
  conditions: listOf(condition).exactOptional(),
  replicas: int32(0).exactOptional(),
  selector: text.exactOptional(),
  podIPs: listOf(text).exactOptional(),
});
