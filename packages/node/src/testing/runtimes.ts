import { builtProgram } from "../runtime/built-program.ts";
import { findProgram } from "../system/find-program.ts";
import { whyNoPods } from "./needs.ts";

const reason = await whyNoPods();
if (reason !== undefined) console.warn(`skipped: ${reason}`);
export const cannotRun: boolean = reason !== undefined;

const hasGvisor = await findProgram(builtProgram("runsc") ?? "runsc").then(
  () => true,
  () => false,
);

/** The runtimes that every behaviour of Pods is tested with. `TESTED_RUNTIMES=runc` is for those in a hurry. */
export const testedRuntimes: readonly string[] =
  process.env["TESTED_RUNTIMES"]?.split(",") ?? (hasGvisor ? ["runc", "gvisor"] : ["runc"]);
