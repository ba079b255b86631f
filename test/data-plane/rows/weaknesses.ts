import type { Rows } from "../checklist.ts";
import { identityWeaknesses } from "./weaknesses-identity.ts";
import { routerWeaknesses } from "./weaknesses-router.ts";
import { runtimeWeaknesses } from "./weaknesses-runtime.ts";

export const weaknesses: Rows<"weaknesses"> = { ...identityWeaknesses, ...runtimeWeaknesses, ...routerWeaknesses };
