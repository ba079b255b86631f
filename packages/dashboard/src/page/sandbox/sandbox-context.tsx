/** The sandbox of the page, its Pod, and how to open another view: `useSandbox()`. */
import type { Pod, Sandbox } from "@agent-sandbox/api";
import { createContext, useContext } from "react";
import type { View } from "./view-tabs.tsx";

export interface ShownSandbox {
  readonly sandbox: Sandbox;
  /** Undefined: it has none now, or the user may not read it. */
  readonly pod: Pod | undefined;
  readonly open: (view: View) => void;
}

const context = createContext<ShownSandbox | undefined>(undefined);

export const SandboxProvider = context.Provider;

export function useSandbox(): ShownSandbox {
  const found = useContext(context);
  if (found === undefined) throw new Error("There is no sandbox");
  return found;
}
