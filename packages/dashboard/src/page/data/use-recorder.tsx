import { createContext, type ReactNode, useContext, useEffect, useMemo, useSyncExternalStore } from "react";
import { useScope } from "../shell/scope.tsx";
import { useBackend } from "./backend.ts";
import { Recorder } from "./recorder.ts";

const context = createContext<Recorder | undefined>(undefined);

/** Records as long as the page is open. Another namespace begins with an empty record. */
export function RecorderProvider({ children }: { readonly children: ReactNode }) {
  const backend = useBackend();
  const { namespace } = useScope();
  const recorder = useMemo(() => new Recorder(backend, namespace), [backend, namespace]);
  useEffect(() => recorder.start(), [recorder]);
  return <context.Provider value={recorder}>{children}</context.Provider>;
}

/** Renders again only when what `select` returns has changed. It must return the same value while nothing changed. */
export function useRecorded<T>(select: (recorder: Recorder) => T): T {
  const recorder = useContext(context);
  if (recorder === undefined) throw new Error("There is no recorder");
  return useSyncExternalStore(recorder.subscribe, () => select(recorder));
}

/** Renders again with every record. */
export function useRecorder(): Recorder {
  const recorder = useContext(context);
  if (recorder === undefined) throw new Error("There is no recorder");
  useSyncExternalStore(recorder.subscribe, recorder.version);
  return recorder;
}
