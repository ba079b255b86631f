import { closeSync, openSync } from "node:fs";
import { withUserNamespace } from "../system/user-namespace.ts";
import { mappingOf } from "./id-range.ts";

/** A user namespace with its network namespace that no Pod has yet, by descriptors. */
export interface SpareNamespaces extends Disposable {
  /** The machine's id of its root. */
  readonly first: number;
  readonly user: number;
  readonly net: number;
}

/** They are gone when they are disposed of, or when this process ends, unless somebody has mounted them. */
export async function makeSpare(first: number): Promise<SpareNamespaces> {
  const ids = mappingOf({ first, more: [] });
  return withUserNamespace({ ids, creator: first, network: true }, async (files) => {
    const user = openSync(files.user, "r");
    const net = openSync(files.net, "r");
    return {
      first,
      user,
      net,
      [Symbol.dispose]: () => {
        closeSync(user);
        closeSync(net);
      },
    };
  });
}
