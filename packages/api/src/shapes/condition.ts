import * as z from "zod";
import { dateTime, int64, objectOf } from "./object-schema.ts";

const conditionStatuses = ["True", "False", "Unknown"] as const;
export type ConditionStatus = (typeof conditionStatuses)[number];

/** `metav1.Condition`. The message is required, but may be empty. */
export interface Condition {
  type: string;
  status: ConditionStatus;
  observedGeneration?: number;
  /** RFC 3339 with a resolution of one second. */
  lastTransitionTime: string;
  /** CamelCase, machine-readable. */
  reason: string;
  message: string;
}

const qualifiedName =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/;

export const condition: z.ZodType<Condition> = objectOf<Condition>({
  type: z.string().max(316).regex(qualifiedName).describe("The type of the condition."),
  status: z.enum(conditionStatuses).describe("Whether the condition is true, false or unknown."),
  observedGeneration: int64(0).exactOptional().describe("The metadata.generation that the condition is based on."),
  lastTransitionTime: dateTime.describe("When the status last changed."),
  reason: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
    .describe("The machine-readable reason of the status, one CamelCase word."),
  message: z.string().max(32768).describe("The human-readable explanation. May be empty."),
});
