/** Carries out commands. */
import { useLocation } from "wouter";
import { useToast } from "../components/toast.tsx";
import { useBackend } from "../data/backend.ts";
import { setMode } from "../sandbox/actions/set-mode.ts";
import { usePreferences } from "../shell/preferences.tsx";
import { useScope } from "../shell/scope.tsx";
import type { Effect, PaletteDialog } from "./command.ts";

interface Handlers {
  readonly onDialog: (dialog: PaletteDialog) => void;
  readonly onSignedOut: () => void;
}

export function useRun({ onDialog, onSignedOut }: Handlers): (effect: Effect) => void {
  const [, navigate] = useLocation();
  const { setTheme, setZone } = usePreferences();
  const { setNamespace } = useScope();
  const backend = useBackend();
  const toast = useToast();
  return (effect) => {
    switch (effect.do) {
      case "go":
        return navigate(effect.href);
      case "open":
        return onDialog(effect.dialog);
      case "theme":
        return setTheme(effect.theme);
      case "zone":
        return setZone(effect.zone);
      case "namespace":
        return setNamespace(effect.namespace);
      case "log-out":
        void backend
          .logOut()
          .catch(() => undefined)
          .then(onSignedOut);
        return;
      default: {
        const { name = "" } = effect.sandbox.metadata;
        setMode(backend.api, effect.sandbox, effect.do).then(
          () => toast.done(effect.do === "suspend" ? `Suspending sandbox "${name}"` : `Resuming sandbox "${name}"`),
          (error: unknown) => toast.failed(`Cannot ${effect.do} sandbox "${name}"`, error),
        );
      }
    }
  };
}
