import type { Sandbox as RunningSandbox } from "@agent-sandbox/sdk";
import { useMemo } from "react";
import { useBackend } from "../../data/backend.ts";
import { useSandbox } from "../sandbox-context.tsx";

/** Returns the sandbox of the page for calls of its runtime API. Every call wakes it, and counts as use. */
export function useRuntime(): () => Promise<RunningSandbox> {
  const { runtime } = useBackend();
  const { metadata } = useSandbox().sandbox;
  const { name = "", namespace = "" } = metadata;
  return useMemo(() => () => runtime.sandbox({ namespace, name }), [runtime, namespace, name]);
}
