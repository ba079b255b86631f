/** What a list shows when it has no rows: what is missing, and the first command or action. */
import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { Command } from "./command.tsx";

interface EmptyStateProps {
  readonly icon: LucideIcon;
  readonly title: string;
  readonly children?: ReactNode;
  /** A command for a terminal. */
  readonly command?: string;
}

export function EmptyState({ icon: Icon, title, children, command }: EmptyStateProps) {
  return (
    <div className="empty">
      <span className="empty-icon" aria-hidden>
        <Icon size={22} />
      </span>
      <p className="empty-title">{title}</p>
      {children !== undefined && <div className="empty-text">{children}</div>}
      {command !== undefined && <Command text={command} />}
    </div>
  );
}
