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
  labels: textMap.exactOptional(),
  annotations: textMap.exactOptional(),
});

export const namedMetadata: z.ZodType<NamedMetadata> = objectOf<NamedMetadata>({
  name: text.exactOptional(),
  labels: textMap.exactOptional(),
  annotations: textMap.exactOptional(),
});
