import { boxWishes } from "./box-wishes.ts";
import { keepWishes } from "./keep-wishes.ts";
import { lookWishes } from "./look-wishes.ts";
import { poolWishes } from "./pool-wishes.ts";
import { runWishes } from "./run-wishes.ts";
import { stateWishes } from "./state-wishes.ts";
import type { Topic } from "./wish.ts";

/** What new users want, in the order in which it is run on one box. */
export const topics: readonly Topic[] = [runWishes, keepWishes, lookWishes, stateWishes, poolWishes, boxWishes];
