import type { Random } from "../../../packages/apiserver/test/fuzz/random.ts";
import type { Runtime } from "../tenant.ts";
import { baseObject } from "./base-objects.ts";
import type { Prey } from "./hostile-values.ts";
import { mutate } from "./mutate.ts";
import type { ServedKind } from "./served-kinds.ts";

export type Fields = Record<string, unknown>;

/** An object of a kind with up to four hostile changes. */
export function hostileObject(
  random: Random,
  kind: ServedKind,
  name: string,
  prey: Prey,
  runtimes: readonly Runtime[],
): Fields {
  const metadata = { name, labels: { role: random.pick(["web", "m"]) } };
  let object: Fields = { ...baseObject(random, kind, runtimes), metadata };
  for (let made = random.below(5); made > 0; made--) object = mutate(random, kind, object, prey);
  return object;
}
