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
  type: z.string().max(316).regex(qualifiedName),
  status: z.enum(conditionStatuses),
  observedGeneration: int64(0).exactOptional(),
  lastTransitionTime: dateTime,
  reason: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/),
  message: z.string().max(32768),
});
