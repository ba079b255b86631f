/** The heading of a page, with its actions at the end. It also sets the title of the window. */
import { type ReactNode, useEffect } from "react";
import { cleanText } from "./clean-text.ts";

interface PageHeaderProps {
  readonly title: string;
  readonly subtitle?: ReactNode;
  readonly children?: ReactNode;
}

export function PageHeader({ title, subtitle, children }: PageHeaderProps) {
  const shown = cleanText(title);
  useEffect(() => {
    document.title = `${shown} · Agent Sandbox`;
  }, [shown]);
  return (
    <header className="page-header">
      <div>
        <h1>{shown}</h1>
        {subtitle !== undefined && (
          <p className="subtitle">{typeof subtitle === "string" ? cleanText(subtitle) : subtitle}</p>
        )}
      </div>
      {children !== undefined && <div className="actions">{children}</div>}
    </header>
  );
}
