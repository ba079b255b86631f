import * as z from "zod";
import { type Condition, condition } from "./condition.ts";
import { type ClaimShutdownPolicy, claimShutdownPolicies } from "./expiry.ts";
import { dateTime, defaulted, int32, listOf, objectOf, text } from "./object-schema.ts";

/** When a claim ends. A claim without one never expires. */
export interface Lifecycle {
  /** RFC 3339. */
  shutdownTime?: string;
  /** Counted from the moment the claimed Sandbox finished. */
  ttlSecondsAfterFinished?: number;
  shutdownPolicy?: ClaimShutdownPolicy;
}

/** A plain variable to add to the containers of a claimed Sandbox. */
export interface EnvVar {
  name: string;
  value: string;
  /** Absent: the first container. */
  containerName?: string;
}

/** The Sandbox a claim is bound to. */
export interface ClaimedSandbox {
  name?: string;
  podIPs?: string[];
}

export interface SandboxClaimStatus {
  conditions?: Condition[];
  sandbox?: ClaimedSandbox;
}

export const lifecycle: z.ZodType<Lifecycle> = objectOf<Lifecycle>({
  shutdownTime: dateTime.exactOptional(),
  ttlSecondsAfterFinished: int32(0).exactOptional(),
  shutdownPolicy: defaulted<ClaimShutdownPolicy>(z.enum(claimShutdownPolicies), "Retain"),
});

export const envVar: z.ZodType<EnvVar> = objectOf<EnvVar>({
  name: text,
  value: text,
  containerName: text.exactOptional(),
});

export const sandboxClaimStatus: z.ZodType<SandboxClaimStatus> = objectOf<SandboxClaimStatus>({
  conditions: listOf(condition).exactOptional(),
  sandbox: objectOf<ClaimedSandbox>({
    name: text.exactOptional(),
    podIPs: listOf(text).exactOptional(),
  }).exactOptional(),
});
