import type * as z from "zod";
import { objectOf, text, textMap } from "./object-schema.ts";

/** The only metadata a pod template may carry; it is copied to the Pod. */
export interface PodMetadata {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

/** The metadata of a volume claim template. The name prefixes that of the PersistentVolumeClaim. */
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
    .describe("The name of the volume in the Pod. The claim is called after it and the Sandbox: name-sandbox."),
  labels: textMap.exactOptional().describe("Labels for the PersistentVolumeClaim."),
  annotations: textMap.exactOptional().describe("Annotations for the PersistentVolumeClaim."),
});
