import { closeSync, openSync } from "node:fs";
import { withUserNamespace } from "../system/user-namespace.ts";
import { mappingOf } from "./id-range.ts";

/** File descriptors of a user namespace and its network namespace that no Pod uses yet. */
export interface SpareNamespaces extends Disposable {
  /** The host id of its root. */
  readonly first: number;
  readonly user: number;
  readonly net: number;
}

/** Creates namespaces that exist until they are disposed of or this process ends, unless they are mounted. */
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
