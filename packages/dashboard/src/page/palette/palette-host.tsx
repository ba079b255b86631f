/** Opens the command palette with Ctrl-K or Cmd-K, and shows the dialogs that its commands open. All of them are loaded when they are needed. */
import { createContext, lazy, type ReactNode, Suspense, useContext, useEffect, useMemo, useState } from "react";
import type { PaletteDialog } from "./command.ts";

const Palette = lazy(() => import("./palette.tsx"));
const PaletteDialogs = lazy(() => import("./palette-dialogs.tsx"));

const context = createContext<() => void>(() => undefined);

/** Opens the palette. */
export function usePalette(): () => void {
  return useContext(context);
}

interface PaletteHostProps {
  readonly onSignedOut: () => void;
  readonly children: ReactNode;
}

export function PaletteHost({ onSignedOut, children }: PaletteHostProps) {
  const [isOpen, setOpen] = useState(false);
  const [dialog, setDialog] = useState<PaletteDialog>();
  const open = useMemo(() => () => setOpen(true), []);
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const isShortcut = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.shiftKey;
      // A terminal uses Ctrl-K itself, and a dialog must be closed first.
      const isTaken = (event.target as Element | null)?.closest?.(".xterm, dialog") !== null;
      if (!isShortcut || event.altKey || isTaken) return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return (
    <context.Provider value={open}>
      {children}
      <Suspense>
        {isOpen && <Palette onDialog={setDialog} onSignedOut={onSignedOut} onClose={() => setOpen(false)} />}
        {dialog !== undefined && <PaletteDialogs dialog={dialog} onClose={() => setDialog(undefined)} />}
      </Suspense>
    </context.Provider>
  );
}
