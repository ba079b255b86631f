/**
 * Runs one action at a time, with its progress. An action continues when its dialog is closed or the page of the sandbox is left. A
 * message then says how it ended.
 */
import { useMemo, useRef, useState } from "react";
import { useToast } from "../../components/toast.tsx";
import { useBackend } from "../../data/backend.ts";
import { useSandbox } from "../sandbox-context.tsx";
import type { Task } from "./perform.ts";

export interface Running {
  /** What runs, as in `Suspending`. */
  readonly title: string;
  readonly progress: string;
}

export interface Wanted {
  readonly title: string;
  /** As in `Suspended`. */
  readonly done: string;
  /** As in `Cannot suspend`. */
  readonly failed: string;
  readonly work: (task: Task) => Promise<void>;
}

export interface Tasks {
  readonly running: Running | undefined;
  /** Whether it was done. */
  readonly run: (wanted: Wanted) => Promise<boolean>;
}

export function useTasks(): Tasks {
  const { sandbox } = useSandbox();
  const { api } = useBackend();
  const toast = useToast();
  const [running, setRunning] = useState<Running>();
  const latest = useRef(sandbox);
  latest.current = sandbox;
  const run = useMemo(
    () =>
      async ({ title, done, failed, work }: Wanted): Promise<boolean> => {
        const onProgress = (progress: string): void => setRunning({ title, progress });
        setRunning({ title, progress: "" });
        try {
          await work({ api, sandbox: latest.current, onProgress });
          toast.done(done);
          return true;
        } catch (error) {
          toast.failed(failed, error);
          return false;
        } finally {
          setRunning(undefined);
        }
      },
    [api, toast],
  );
  return { running, run };
}
