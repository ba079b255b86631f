import { coreKinds } from "./core-kinds.ts";
import { groupKinds } from "./group-kinds.ts";
import type { KindUnderTest } from "./kind-under-test.ts";
import { ownKinds } from "./own-kinds.ts";

export const kindsUnderTest: readonly KindUnderTest[] = [...coreKinds, ...groupKinds, ...ownKinds];
