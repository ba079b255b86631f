/**
 * The command palette: a dialog with a combobox. The focus stays in the input; arrow keys move through the list, Enter runs a command,
 * Escape closes.
 */
import {
  Boxes,
  Camera,
  FileBox,
  Layers,
  type LucideIcon,
  PanelsTopLeft,
  Search,
  Settings2,
  SquareDashed,
  Ticket,
  Zap,
} from "lucide-react";
import { type KeyboardEvent, useDeferredValue, useEffect, useId, useMemo, useRef, useState } from "react";
import { Text } from "../components/text.tsx";
import { type Command, type Group, groups, type PaletteDialog } from "./command.ts";
import { rank } from "./rank.ts";
import { useCommands } from "./use-commands.ts";
import { useRun } from "./use-run.ts";

const mostShown = 60;
const pageSize = 8;

const icons: Readonly<Record<Group, LucideIcon>> = {
  Pages: PanelsTopLeft,
  Actions: Zap,
  Sandboxes: Boxes,
  Templates: FileBox,
  Pools: Layers,
  Claims: Ticket,
  Snapshots: Camera,
  Namespaces: SquareDashed,
  Settings: Settings2,
};

interface PaletteProps {
  readonly onDialog: (dialog: PaletteDialog) => void;
  readonly onSignedOut: () => void;
  readonly onClose: () => void;
}

export default function Palette({ onDialog, onSignedOut, onClose }: PaletteProps) {
  const element = useModal();
  const run = useRun({ onDialog, onSignedOut });
  const choose = (command: Command): void => {
    onClose();
    run(command.effect);
  };
  return (
    <dialog
      ref={element}
      className="palette"
      aria-label="Search or run a command"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={(event) => event.target === element.current && onClose()}
    >
      <div className="palette-frame">
        <Combobox onChoose={choose} />
        <p className="palette-foot" aria-hidden>
          <span>
            <kbd>↑</kbd> <kbd>↓</kbd> to move
          </span>
          <span>
            <kbd>Enter</kbd> to choose
          </span>
        </p>
      </div>
    </dialog>
  );
}

function Combobox({ onChoose }: { readonly onChoose: (command: Command) => void }) {
  const id = useId();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<string>();
  const query = useDeferredValue(text);
  const commands = useCommands();
  const sections = useMemo(() => grouped(rank(commands, query, mostShown), query), [commands, query]);
  const shown = sections.flatMap(([, found]) => found);
  const active = shown.find((command) => command.id === chosen) ?? shown[0];
  const press = (event: KeyboardEvent): void => {
    const next = moved(event.key, active === undefined ? 0 : shown.indexOf(active), shown.length);
    if (next === undefined && event.key !== "Enter") return;
    event.preventDefault();
    if (next !== undefined) setChosen(shown[next]?.id);
    else if (active !== undefined && !event.nativeEvent.isComposing) onChoose(active);
  };
  const optionId = (command: Command): string => `${id}-${shown.indexOf(command)}`;
  return (
    <>
      <div className="palette-bar">
        <Search size={17} aria-hidden />
        <input
          role="combobox"
          aria-label="Search or run a command"
          aria-autocomplete="list"
          aria-expanded={shown.length > 0}
          aria-controls={`${id}-list`}
          {...(active !== undefined && { "aria-activedescendant": optionId(active) })}
          autoComplete="off"
          spellCheck={false}
          placeholder="Search or run a command"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setChosen(undefined);
          }}
          onKeyDown={press}
        />
        <kbd aria-hidden>Esc</kbd>
      </div>
      <Results
        id={id}
        sections={sections}
        active={active}
        optionId={optionId}
        onPoint={setChosen}
        onChoose={onChoose}
      />
      <p className={shown.length === 0 ? "palette-none" : "visually-hidden"} role="status">
        {shown.length === 0 ? "Nothing matches" : `${shown.length} commands`}
      </p>
    </>
  );
}

type Sections = readonly (readonly [Group, Command[]])[];

interface ResultsProps {
  readonly id: string;
  readonly sections: Sections;
  readonly active: Command | undefined;
  readonly optionId: (command: Command) => string;
  readonly onPoint: (id: string) => void;
  readonly onChoose: (command: Command) => void;
}

function Results({ id, sections, active, optionId, onPoint, onChoose }: ResultsProps) {
  return (
    <div className="palette-list" id={`${id}-list`} role="listbox" aria-label="Commands">
      {sections.map(([group, found]) => (
        <div key={group} role="group" aria-labelledby={`${id}-${group}`}>
          <div className="palette-group" id={`${id}-${group}`} role="presentation">
            {group}
          </div>
          {found.map((command) => (
            <Option
              key={command.id}
              id={optionId(command)}
              command={command}
              isActive={command === active}
              onPoint={() => onPoint(command.id)}
              onChoose={() => onChoose(command)}
            />
          ))}
        </div>
      ))}
    </div>
  );
}

/** The index that a key moves to, or undefined. The arrow keys go on at the other end. */
function moved(key: string, at: number, count: number): number | undefined {
  const moves: Readonly<Record<string, number>> = {
    ArrowDown: at === count - 1 ? 0 : at + 1,
    ArrowUp: at === 0 ? count - 1 : at - 1,
    PageDown: Math.min(count - 1, at + pageSize),
    PageUp: Math.max(0, at - pageSize),
  };
  return moves[key];
}

interface OptionProps {
  readonly id: string;
  readonly command: Command;
  readonly isActive: boolean;
  readonly onPoint: () => void;
  readonly onChoose: () => void;
}

function Option({ id, command, isActive, onPoint, onChoose }: OptionProps) {
  const element = useRef<HTMLDivElement>(null);
  const Icon = icons[command.group];
  useEffect(() => {
    if (isActive) element.current?.scrollIntoView({ block: "nearest" });
  }, [isActive]);
  return (
    // biome-ignore lint: the focus is in the input, which handles the keys.
    <div
      ref={element}
      id={id}
      role="option"
      className="palette-option"
      aria-selected={isActive}
      onPointerMove={() => !isActive && onPoint()}
      onClick={onChoose}
    >
      <Icon size={15} aria-hidden />
      <Text of={command.title} className="palette-title" />
      <Text of={command.detail} className="faint small" />
    </div>
  );
}

/** With a query the group with the best command is first, otherwise the order is fixed. */
function grouped(commands: readonly Command[], query: string): Sections {
  const found = Map.groupBy(commands, ({ group }) => group);
  const order = query.trim() === "" ? groups : [...found.keys()];
  return order.flatMap((group) => {
    const inGroup = found.get(group);
    return inGroup === undefined ? [] : [[group, inGroup] as const];
  });
}

/** Opens the dialog, and returns the focus when it closes. */
function useModal() {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    element.current?.showModal();
    return () => (opener instanceof HTMLElement ? opener.focus() : undefined);
  }, []);
  return element;
}
