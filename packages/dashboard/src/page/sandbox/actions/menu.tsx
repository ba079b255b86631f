/** A button that opens a list of actions. Arrow keys move in it, Escape closes it. */
import { Ellipsis, type LucideIcon } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { IconButton } from "../../components/button.tsx";

interface Entry<T extends string> {
  readonly id: T;
  readonly title: string;
  readonly icon: LucideIcon;
  readonly isDanger?: boolean;
}

interface MenuProps<T extends string> {
  readonly label: string;
  readonly entries: readonly Entry<T>[];
  readonly isDisabled?: boolean;
  readonly onChoose: (id: T) => void;
}

export function Menu<T extends string>({ label, entries, isDisabled, onChoose }: MenuProps<T>) {
  const [isOpen, setOpen] = useState(false);
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    frame.current?.querySelector<HTMLElement>('[role="menuitem"]')?.focus();
    const close = (event: PointerEvent): void => {
      if (!frame.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", close);
    return () => document.removeEventListener("pointerdown", close);
  }, [isOpen]);
  const leave = (): void => {
    setOpen(false);
    frame.current?.querySelector<HTMLElement>("button")?.focus();
  };
  const move = (event: KeyboardEvent): void => {
    if (event.key === "Escape") leave();
    else if (event.key === "Tab") setOpen(false);
    else moveFocus(event, frame.current);
  };
  return (
    <div className="menu" ref={frame}>
      <IconButton
        icon={Ellipsis}
        label={label}
        className="icon-button icon-button-framed"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        disabled={isDisabled === true}
        onClick={() => setOpen(!isOpen)}
      />
      {isOpen && (
        <div className="menu-list" role="menu" aria-label={label} tabIndex={-1} onKeyDown={move}>
          {entries.map(({ id, title, icon: Icon, isDanger }) => (
            <button
              key={id}
              type="button"
              role="menuitem"
              tabIndex={-1}
              className={isDanger === true ? "menu-danger" : undefined}
              onClick={() => {
                leave();
                onChoose(id);
              }}
            >
              <Icon size={15} aria-hidden />
              {title}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

function moveFocus(event: KeyboardEvent, frame: HTMLElement | null): void {
  const items = [...(frame?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
  const at = items.indexOf(document.activeElement as HTMLElement);
  const steps: Readonly<Record<string, number>> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 };
  const to = steps[event.key];
  if (to === undefined) return;
  event.preventDefault();
  items.at(to % items.length)?.focus();
}
