import type { Figures } from "../report.ts";
import type { Arm } from "./arm.ts";
import { openControlPlane } from "./control-plane.ts";
import { onFakeNodes, onRestart } from "./scenarios.ts";

/** Loads that are too large for a node of this machine, and a start with all the objects that they leave. */
export async function measureFake(arm: Arm, folder: string): Promise<Figures> {
  await using plane = await openControlPlane(arm, folder);
  let figures: Figures;
  {
    await using running = await plane.start();
    figures = await running.whileRunning(onFakeNodes({ ...plane, running }));
  }
  plane.audit.take();
  await using running = await plane.start();
  return { ...figures, ...(await running.whileRunning(onRestart({ ...plane, running }))) };
}
