import * as z from "zod";
import { dateTime, int64, objectOf } from "./object-schema.ts";

export const conditionStatuses = ["True", "False", "Unknown"] as const;
export type ConditionStatus = (typeof conditionStatuses)[number];

/** `metav1.Condition`. The message may be empty but must be there. */
export interface Condition {
  type: string;
  status: ConditionStatus;
  observedGeneration?: number;
  /** RFC 3339 with a resolution of one second. */
  lastTransitionTime: string;
  /** CamelCase, for programs. */
  reason: string;
  message: string;
}

const qualifiedName =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/;

export const condition: z.ZodType<Condition> = objectOf<Condition>({
  type: z.string().max(316).regex(qualifiedName).describe("What the condition is about."),
  status: z.enum(conditionStatuses).describe("Whether it holds."),
  observedGeneration: int64(0)
    .exactOptional()
    .describe("The metadata.generation that the condition was worked out for."),
  lastTransitionTime: dateTime.describe("When the status last changed."),
  reason: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
    .describe("One word for programs: why the status is as it is."),
  message: z.string().max(32768).describe("The same for people, in a sentence. May be empty."),
});
