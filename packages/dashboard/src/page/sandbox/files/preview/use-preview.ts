import { useEffect, useState } from "react";
import { useRuntime } from "../../runtime/use-runtime.ts";
import { type Preview, readPreview } from "./read-preview.ts";

export interface ShownPreview {
  /** Undefined: it is being read, or that failed. */
  readonly preview: Preview | undefined;
  readonly error: unknown;
}

/** Reads a file when the path changes, and again when `version` does. */
export function usePreview(path: string, version: number): ShownPreview {
  const connect = useRuntime();
  const [shown, setShown] = useState<ShownPreview>({ preview: undefined, error: undefined });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version is read again.
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    setShown({ preview: undefined, error: undefined });
    connect()
      .then(({ files }) => readPreview(files, path, signal))
      .then(
        (preview) => !signal.aborted && setShown({ preview, error: undefined }),
        (error: unknown) => !signal.aborted && setShown({ preview: undefined, error }),
      );
    return () => controller.abort(new Error("Another file was opened"));
  }, [connect, path, version]);
  return shown;
}
