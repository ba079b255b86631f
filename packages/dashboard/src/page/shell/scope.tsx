/**
 * The namespace that lists show: `useScope().namespace`, undefined for all. Users who may not list sandboxes in all namespaces begin
 * in the namespace of their session.
 */
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";
import { useBackend } from "../data/backend.ts";
import { sandboxes } from "../data/resources.ts";

interface Scope {
  readonly namespace: string | undefined;
  /** Whether the user may choose all namespaces. */
  readonly canAll: boolean;
  readonly setNamespace: (namespace: string | undefined) => void;
  /** Where new objects are created. */
  readonly home: string;
}

const context = createContext<Scope | undefined>(undefined);

export function useScope(): Scope {
  const scope = useContext(context);
  if (scope === undefined) throw new Error("There is no scope");
  return scope;
}

/** Renders its children once it is known what the user may list. */
export function ScopeProvider({ children }: { readonly children: ReactNode }) {
  const { access, session } = useBackend();
  const [canAll, setCanAll] = useState<boolean>();
  const [namespace, setNamespace] = useState<string>();
  useEffect(() => {
    const find = async (): Promise<void> => {
      const answer = await access.can("list", sandboxes);
      if (!answer) setNamespace(session.namespace);
      setCanAll(answer);
    };
    void find();
  }, [access, session]);
  const value = useMemo(
    () => ({ namespace, canAll: canAll === true, setNamespace, home: namespace ?? session.namespace }),
    [namespace, canAll, session],
  );
  return canAll === undefined ? null : <context.Provider value={value}>{children}</context.Provider>;
}
