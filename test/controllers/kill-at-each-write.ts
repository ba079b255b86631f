import { ManagerProcess } from "./manager-process.ts";
import type { StormWorld } from "./storm-world.ts";

/** A claim takes nine writes until it is bound and its member is replaced, and about twenty with a suspension. */
export const fewestKills = 7;
/** More writes would mean that each kill causes further writes. */
export const mostKills = 40;

/** Lets a claim live once for each write of its life, and kills the manager at that write. Returns the number of kills. */
export async function killAtEachWrite(
  world: StormWorld,
  flags: readonly string[],
  { sleeps }: { readonly sleeps: boolean },
): Promise<number> {
  await using managers = new AsyncDisposableStack();
  const startManager = (): ManagerProcess => managers.use(new ManagerProcess(world.kubeconfig, flags));
  let manager = startManager();
  let kills = 0;
  for (let wasKilled = true; wasKilled && kills < mostKills; ) {
    await world.settled();
    wasKilled = false;
    let writes = 0;
    world.proxy.onWrite = async () => {
      writes += 1;
      if (writes !== kills + 1) return;
      wasKilled = true;
      await manager.kill();
      manager = startManager();
    };
    await world.liveAlone(`life-${kills}`, { sleeps });
    if (wasKilled) kills += 1;
  }
  return kills;
}
