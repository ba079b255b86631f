/**
 * A modal dialog. The browser keeps the focus inside, closes it with Escape, and returns the focus. Render it only while it is open.
 * The focus begins at an element with `data-autofocus`, else at the first field, else at the first button of the footer.
 */
import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";
import { IconButton } from "./button.tsx";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** Buttons at the end. */
  readonly footer?: ReactNode;
  readonly isWide?: boolean;
}

export function Dialog({ title, onClose, children, footer, isWide }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const opener = document.activeElement;
    element.current?.showModal();
    firstControl(element.current)?.focus();
    return () => (opener instanceof HTMLElement ? opener.focus() : undefined);
  }, []);
  return (
    <dialog
      ref={element}
      className={isWide === true ? "dialog dialog-wide" : "dialog"}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={(event) => event.target === element.current && onClose()}
    >
      <div className="dialog-frame">
        <header className="dialog-head">
          <h2 id={heading}>{title}</h2>
          <IconButton icon={X} label="Close" onClick={onClose} />
        </header>
        <div className="dialog-body">{children}</div>
        {footer !== undefined && <footer className="dialog-foot">{footer}</footer>}
      </div>
    </dialog>
  );
}

function firstControl(dialog: HTMLElement | null): HTMLElement | null | undefined {
  const places = ["[data-autofocus]", ".dialog-body :is(input, select, textarea)", ".dialog-foot button"];
  return places.map((place) => dialog?.querySelector<HTMLElement>(place)).find((found) => found);
}
