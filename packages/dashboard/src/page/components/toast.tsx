/** Short messages about what an action did: `const toast = useToast(); toast.done("Deleted")`, `toast.failed("Cannot delete", error)`. */
import { CircleAlert, CircleCheck, X } from "lucide-react";
import { createContext, type ReactNode, useContext, useMemo, useRef, useState } from "react";
import { IconButton } from "./button.tsx";
import { Text } from "./text.tsx";

interface Message {
  readonly id: number;
  readonly isFailure: boolean;
  readonly text: string;
}

export interface Toast {
  done(text: string): void;
  /** The error stays until it is closed. */
  failed(text: string, error?: unknown): void;
}

const context = createContext<Toast>({ done: () => undefined, failed: () => undefined });
const shownMs = 5000;
const most = 4;

export function useToast(): Toast {
  return useContext(context);
}

export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [messages, setMessages] = useState<readonly Message[]>([]);
  const lastId = useRef(0);
  const toast = useMemo((): Toast => {
    const close = (id: number): void => setMessages((all) => all.filter((one) => one.id !== id));
    const show = (text: string, isFailure: boolean): void => {
      const id = ++lastId.current;
      setMessages((all) => [...all, { id, text, isFailure }].slice(-most));
      if (!isFailure) setTimeout(() => close(id), shownMs);
    };
    return {
      done: (text) => show(text, false),
      failed: (text, error) => show(error instanceof Error ? `${text}: ${error.message}` : text, true),
    };
  }, []);
  return (
    <context.Provider value={toast}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {messages.map(({ id, text, isFailure }) => (
          <div key={id} className={isFailure ? "toast toast-failed" : "toast"}>
            {isFailure ? <CircleAlert size={16} aria-hidden /> : <CircleCheck size={16} aria-hidden />}
            <Text of={text} className="toast-text" />
            <IconButton
              icon={X}
              label="Close message"
              onClick={() => setMessages((all) => all.filter((one) => one.id !== id))}
            />
          </div>
        ))}
      </div>
    </context.Provider>
  );
}
