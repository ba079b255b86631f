/**
 * Hooks over the stores. `useList` returns all objects of a scope, `useObject` one of them, `useCan` whether the user may do something
 * (false until that is known). Pass `undefined` as the resource to read nothing.
 */
import { useEffect, useState, useSyncExternalStore } from "react";
import type { Verb } from "./access.ts";
import { type Store, useBackend } from "./backend.ts";
import type { Snapshot } from "./list-store.ts";
import type { KubeObject, Resource } from "./resources.ts";

const nothing: Snapshot<never> = { items: [], state: "loading", since: 0 };
const noStore: Store<never> = { subscribe: () => () => undefined, snapshot: () => nothing, isIdle: () => true };

export function useList<T extends KubeObject>(
  resource: Resource<T> | undefined,
  namespace?: string,
  fieldSelector?: string,
): Snapshot<T> {
  const backend = useBackend();
  const store: Store<T> = resource === undefined ? noStore : backend.store(resource, { namespace, fieldSelector });
  return useSyncExternalStore(store.subscribe, store.snapshot);
}

export interface OneObject<T> extends Omit<Snapshot<T>, "items"> {
  /** Undefined: it is loading, or it does not exist. */
  readonly object: T | undefined;
}

/** One object, with a list and a watch of its own that select its name. */
export function useObject<T extends KubeObject>(
  resource: Resource<T> | undefined,
  { namespace, name }: { readonly namespace?: string; readonly name: string },
): OneObject<T> {
  const { items, ...rest } = useList(resource, namespace, `metadata.name=${name}`);
  return { ...rest, object: items[0] };
}

export function useCan(
  verb: Verb,
  resource: Resource<unknown>,
  place: { readonly namespace?: string | undefined; readonly subresource?: string } = {},
): boolean {
  const { access } = useBackend();
  const { namespace, subresource } = place;
  const [isAllowed, setAllowed] = useState(false);
  useEffect(() => {
    let isCurrent = true;
    const asked = { namespace, ...(subresource !== undefined && { subresource }) };
    void access.can(verb, resource, asked).then((answer) => isCurrent && setAllowed(answer));
    return () => {
      isCurrent = false;
    };
  }, [access, verb, resource, namespace, subresource]);
  return isAllowed;
}
