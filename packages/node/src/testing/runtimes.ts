import { whyNoPods } from "./needs.ts";

/** The runtimes that every behaviour of Pods is tested with. */
export const testedRuntimes: readonly string[] = ["runc"];

const reason = await whyNoPods();
if (reason !== undefined) console.warn(`skipped: ${reason}`);
export const cannotRun: boolean = reason !== undefined;
