import type { Rows } from "../checklist.ts";
import { routerWeaknesses } from "./weaknesses-router.ts";
import { runtimeWeaknesses } from "./weaknesses-runtime.ts";

export const weaknesses: Rows<"weaknesses"> = { ...runtimeWeaknesses, ...routerWeaknesses };
