import { builtProgram } from "../runtime/built-program.ts";
import { runcVulnerability } from "../runtime/runc-vulnerabilities.ts";
import { findProgram } from "../system/find-program.ts";
import { runCommand } from "../system/run-command.ts";

const runc = builtProgram("runc") ?? "runc";

/** Why tests that run Pods are skipped on this machine, or undefined. */
async function whySkipped(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "it needs root";
  for (const name of [runc, "conmon", "ip", "nft"]) {
    try {
      await findProgram(name);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
  return undefined;
}

/** A node does not start Pods with a vulnerable runc, so every test with runc would wait until it times out. */
async function checkRunc(): Promise<void> {
  const vulnerability = runcVulnerability(await runCommand(runc, ["--version"]));
  if (vulnerability === undefined) return;
  throw new Error(`Cannot test Pods with runc: ${vulnerability}; run "make runc" to build a current one`);
}

const reason = await whySkipped();
if (reason === undefined) await checkRunc();
else console.warn(`skipped: ${reason}`);
export const cannotRun: boolean = reason !== undefined;

const hasGvisor = await findProgram(builtProgram("runsc") ?? "runsc").then(
  () => true,
  () => false,
);

/** The runtimes that every behaviour of Pods is tested with. Set `TESTED_RUNTIMES=runc` for a quicker run. */
export const testedRuntimes: readonly string[] =
  process.env["TESTED_RUNTIMES"]?.split(",") ?? (hasGvisor ? ["runc", "gvisor"] : ["runc"]);
