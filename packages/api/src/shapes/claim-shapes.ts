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
  shutdownTime: dateTime.exactOptional().describe("When the claim expires, in RFC 3339."),
  ttlSecondsAfterFinished: int32(0)
    .exactOptional()
    .describe("How long the claim is kept after its Sandbox has finished. Absent: as long as its shutdownTime allows."),
  shutdownPolicy: defaulted<ClaimShutdownPolicy>(z.enum(claimShutdownPolicies), "Retain").describe(
    "What happens when the claim expires. Delete removes it with its Sandbox, DeleteForeground the Sandbox first; Retain removes the Sandbox alone.",
  ),
});

export const envVar: z.ZodType<EnvVar> = objectOf<EnvVar>({
  name: text.describe("The variable."),
  value: text.describe("Its value, taken as it is written."),
  containerName: text.exactOptional().describe("The container that gets it. Absent: the first one."),
});

export const sandboxClaimStatus: z.ZodType<SandboxClaimStatus> = objectOf<SandboxClaimStatus>({
  conditions: listOf(condition)
    .exactOptional()
    .describe("Ready says whether the claim has a Sandbox that can be used, Finished that its work has ended."),
  sandbox: objectOf<ClaimedSandbox>({
    name: text.exactOptional().describe("The name of the Sandbox, in the namespace of the claim."),
    podIPs: listOf(text).exactOptional().describe("The addresses of its Pod while there is one."),
  })
    .exactOptional()
    .describe("The Sandbox that the claim has been given."),
});
