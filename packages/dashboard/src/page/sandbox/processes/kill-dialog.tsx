import { useState } from "react";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { Text } from "../../components/text.tsx";
import { useToast } from "../../components/toast.tsx";
import { useRuntime } from "../runtime/use-runtime.ts";
import type { ShownProcess } from "./process-list.ts";
import { type Signal, signals } from "./signals.ts";

interface KillDialogProps {
  readonly process: ShownProcess;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Sends a signal to a process and its descendants. */
export function KillDialog({ process: { id, pid, command }, onDone, onClose }: KillDialogProps) {
  const connect = useRuntime();
  const toast = useToast();
  const [signal, setSignal] = useState<Signal>("SIGTERM");
  const kill = async (): Promise<void> => {
    const process = await (await connect()).commands.attach(id);
    try {
      await process.kill(signal);
    } finally {
      await process.disconnect();
    }
    toast.done(`${signal} sent to process ${id}`);
    onDone();
  };
  return (
    <ConfirmDialog title={`Send a signal to process ${id}`} action="Send signal" run={kill} onClose={onClose}>
      <p>
        The process with PID {pid} and all its descendants get the signal:{" "}
        <Text of={command} className="mono kill-command" />
      </p>
      <label className="field">
        <span>Signal</span>
        <select className="input" value={signal} onChange={({ target }) => setSignal(target.value as Signal)}>
          {signals.map(([name, meaning]) => (
            <option key={name} value={name}>
              {name}: {meaning}
            </option>
          ))}
        </select>
      </label>
    </ConfirmDialog>
  );
}
