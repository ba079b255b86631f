import { setTimeout as sleep } from "node:timers/promises";
import { changes, snapshot } from "../monitor.ts";
import type { World } from "../world.ts";

/** A violation, in a sentence. */
export type Report = (violation: string) => void;

/** Sends one request after the other through the router to the victim. Each response must contain the secret. */
export async function keepCalling({ alice }: World, signal: AbortSignal, report: Report): Promise<number> {
  let calls = 0;
  while (!signal.aborted) {
    const answer = await alice
      .ask("web", 8000, "/diary")
      .then(({ status, text }) => `${status} ${text.trim()}`, String);
    if (answer !== `200 ${alice.secret}`) report(`a caller of the victim got "${answer}"`);
    calls++;
    await sleep(100);
  }
  return calls;
}

/** Checks the victim and the machine repeatedly. */
export async function keepLooking(world: World, signal: AbortSignal, report: Report): Promise<number> {
  const before = await snapshot(world.box, { isAlone: true });
  let looks = 0;
  for (let isLast = false; !isLast; looks++) {
    isLast = signal.aborted;
    for (const harm of await world.alice.harm()) report(`the victim: ${harm}`);
    for (const change of changes(before, await snapshot(world.box, { isAlone: true })))
      report(`the machine: ${change}`);
    if (!isLast) await sleep(1000);
  }
  return looks;
}

/** Creates Pods and policies of the victim. The Pods must start, and the policies must take effect. */
export async function keepWorking({ alice }: World, signal: AbortSignal, report: Report): Promise<number> {
  let rounds = 0;
  do {
    await alice.startsPodsAndPolicies().catch((error: unknown) => report(`the victim cannot work: ${String(error)}`));
    rounds++;
    await sleep(3000);
  } while (!signal.aborted);
  return rounds;
}
