import bundle from "./crds.generated.json" with { type: "json" };
import type { CustomResourceDefinition } from "./custom-resource-definition.ts";

/** The four CustomResourceDefinitions, as in `deploy/crds`. A separate entry point, because most programs need none. */
export const crds: readonly CustomResourceDefinition[] = bundle as unknown as readonly CustomResourceDefinition[];
