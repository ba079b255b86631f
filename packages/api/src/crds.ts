import bundle from "./crds.generated.json" with { type: "json" };
import type { CustomResourceDefinition } from "./custom-resource-definition.ts";

/** The CustomResourceDefinitions of `deploy/crds`, and of the foreign kinds that the box serves. A separate entry point, because most programs do not need them. */
export const crds: readonly CustomResourceDefinition[] = bundle as unknown as readonly CustomResourceDefinition[];
