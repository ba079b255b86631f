import type * as z from "zod";
import { objectOf, text, textMap } from "./object-schema.ts";

/** The metadata of a pod template, which is copied to the Pod. */
export interface PodMetadata {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

/** The metadata of a volume claim template. The PersistentVolumeClaim is named `<name>-<sandbox name>`. */
export interface NamedMetadata extends PodMetadata {
  name?: string;
}

export const podMetadata: z.ZodType<PodMetadata> = objectOf<PodMetadata>({
  labels: textMap.exactOptional().describe("Labels for the Pod."),
  annotations: textMap.exactOptional().describe("Annotations for the Pod."),
});

export const namedMetadata: z.ZodType<NamedMetadata> = objectOf<NamedMetadata>({
  name: text
    .exactOptional()
    .describe("The name of the volume in the Pod. The PersistentVolumeClaim is named <name>-<sandbox name>."),
  labels: textMap.exactOptional().describe("Labels for the PersistentVolumeClaim."),
  annotations: textMap.exactOptional().describe("Annotations for the PersistentVolumeClaim."),
});
