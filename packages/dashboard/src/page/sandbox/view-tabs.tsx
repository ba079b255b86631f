/** The views of the page as tabs: arrow keys move between them. */
import {
  Activity,
  Cpu,
  FileCode2,
  FolderTree,
  LayoutDashboard,
  type LucideIcon,
  Network,
  ScrollText,
  SquareTerminal,
} from "lucide-react";
import { type KeyboardEvent, useEffect, useRef } from "react";

const views = [
  ["overview", "Overview", LayoutDashboard],
  ["logs", "Logs", ScrollText],
  ["terminal", "Terminal", SquareTerminal],
  ["files", "Files", FolderTree],
  ["processes", "Processes", Cpu],
  ["ports", "Ports", Network],
  ["metrics", "Metrics", Activity],
  ["yaml", "YAML", FileCode2],
] as const satisfies readonly (readonly [string, string, LucideIcon])[];

export type View = (typeof views)[number][0];

export function isView(text: string): text is View {
  return views.some(([id]) => id === text);
}

export function ViewTabs({ view, onChange }: { readonly view: View; readonly onChange: (view: View) => void }) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const strip = list.current;
    const tab = strip?.querySelector<HTMLElement>('[aria-selected="true"]');
    // On narrow screens the strip scrolls.
    if (strip && tab) strip.scrollLeft = Math.max(0, tab.offsetLeft - strip.offsetLeft - 24);
  }, [view]);
  const move = (event: KeyboardEvent): void => {
    const at = views.findIndex(([id]) => id === view);
    const steps: Readonly<Record<string, number>> = {
      ArrowRight: at + 1,
      ArrowLeft: at - 1,
      Home: 0,
      End: views.length - 1,
    };
    const to = steps[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const [id = view] = views.at(to % views.length) ?? [];
    onChange(id);
    document.getElementById(`tab-${id}`)?.focus();
  };
  return (
    <div className="view-tabs" role="tablist" aria-label="Views of the sandbox" ref={list} onKeyDown={move}>
      {views.map(([id, title, Icon]) => (
        <button
          key={id}
          id={`tab-${id}`}
          type="button"
          role="tab"
          aria-selected={view === id}
          aria-controls="view"
          tabIndex={view === id ? 0 : -1}
          onClick={() => onChange(id)}
        >
          <Icon size={15} aria-hidden />
          {title}
        </button>
      ))}
    </div>
  );
}
