import { useMemo } from "react";
import { useBackend } from "../../data/backend.ts";
import { useSandbox } from "../sandbox-context.tsx";
import type { Place } from "./transfers/put-file.ts";

/** The sandbox of the page, as the user of the session. */
export function usePlace(): Place {
  const { session } = useBackend();
  const { name = "", namespace = "" } = useSandbox().sandbox.metadata;
  return useMemo(() => ({ session, namespace, name }), [session, namespace, name]);
}
