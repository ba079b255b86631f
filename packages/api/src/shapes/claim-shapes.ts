import * as z from "zod";
import { type Condition, condition } from "./condition.ts";
import { type ClaimShutdownPolicy, claimShutdownPolicies } from "./expiry.ts";
import { dateTime, defaulted, int32, listOf, objectOf, text } from "./object-schema.ts";

/** When a claim expires. A claim without a lifecycle never expires. */
export interface Lifecycle {
  /** RFC 3339. */
  shutdownTime?: string;
  /** Counted from the time when the claimed Sandbox finished. */
  ttlSecondsAfterFinished?: number;
  shutdownPolicy?: ClaimShutdownPolicy;
}

/** An environment variable to add to a container of the claimed Sandbox. */
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
  shutdownTime: dateTime.exactOptional().describe("When the claim expires, in RFC 3339."),
  ttlSecondsAfterFinished: int32(0)
    .exactOptional()
    .describe("How long the claim is kept after its Sandbox has finished. Absent: until its shutdownTime."),
  shutdownPolicy: defaulted<ClaimShutdownPolicy>(z.enum(claimShutdownPolicies), "Retain").describe(
    "What happens when the claim expires. Delete deletes the claim and its Sandbox, DeleteForeground deletes the Sandbox first, and Retain deletes only the Sandbox.",
  ),
});

export const envVar: z.ZodType<EnvVar> = objectOf<EnvVar>({
  name: text.describe("The name of the variable."),
  value: text.describe("The value of the variable."),
  containerName: text.exactOptional().describe("The container that gets the variable. Absent: the first container."),
});

export const sandboxClaimStatus: z.ZodType<SandboxClaimStatus> = objectOf<SandboxClaimStatus>({
  conditions: listOf(condition)
    .exactOptional()
    .describe("Ready is True if the claim has a Sandbox that is ready. Finished is True if the Sandbox has finished."),
  sandbox: objectOf<ClaimedSandbox>({
    name: text.exactOptional().describe("The name of the Sandbox, in the namespace of the claim."),
    podIPs: listOf(text).exactOptional().describe("The IP addresses of its Pod, while it has one."),
  })
    .exactOptional()
    .describe("The Sandbox that is bound to the claim."),
});
