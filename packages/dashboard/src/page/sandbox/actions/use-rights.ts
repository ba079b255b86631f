import { pods, sandboxClaims, sandboxes, sandboxSnapshots } from "../../data/resources.ts";
import { useCan } from "../../data/use-data.ts";
import type { Rights } from "./available-actions.ts";

export function useRights(namespace: string | undefined): Rights {
  const place = { namespace };
  return {
    patchSandboxes: useCan("patch", sandboxes, place),
    createSandboxes: useCan("create", sandboxes, place),
    deleteSandboxes: useCan("delete", sandboxes, place),
    createSnapshots: useCan("create", sandboxSnapshots, place),
    deletePods: useCan("delete", pods, place),
    patchClaims: useCan("patch", sandboxClaims, place),
    deleteClaims: useCan("delete", sandboxClaims, place),
  };
}
