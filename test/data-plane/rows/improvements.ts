import type { Rows } from "../checklist.ts";
import { identityImprovements } from "./improvements-identity.ts";
import { routerImprovements } from "./improvements-router.ts";
import { runtimeImprovements } from "./improvements-runtime.ts";

export const improvements: Rows<"improvements"> = {
  ...identityImprovements,
  ...runtimeImprovements,
  ...routerImprovements,
};
