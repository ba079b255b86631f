/** The frame around every page: the sidebar, and the bar at the top. On narrow screens the sidebar opens on demand. */
import { Clock, LogOut, Menu, Moon, Search, Sun } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";
import { IconButton } from "../components/button.tsx";
import { cleanText } from "../components/clean-text.ts";
import { Text } from "../components/text.tsx";
import { useBackend } from "../data/backend.ts";
import { usePalette } from "../palette/palette-host.tsx";
import { ConnectionStatus } from "./connection-status.tsx";
import { Logo } from "./logo.tsx";
import { NamespaceSelect } from "./namespace-select.tsx";
import { Navigation } from "./navigation.tsx";
import { usePreferences } from "./preferences.tsx";

interface LayoutProps {
  readonly onSignedOut: () => void;
  readonly children: ReactNode;
}

export function Layout({ onSignedOut, children }: LayoutProps) {
  const onSearch = usePalette();
  const [isOpen, setOpen] = useState(false);
  const [location] = useLocation();
  const { session } = useBackend();
  return (
    <div className={isOpen ? "shell shell-open" : "shell"}>
      <a className="skip" href="#content" onClick={(event) => skipTo(event)}>
        Skip to content
      </a>
      <aside className="sidebar">
        <div className="brand">
          <Logo />
          <span>Agent Sandbox</span>
        </div>
        <Navigation onNavigate={() => setOpen(false)} />
        <p className="sidebar-foot">
          <Text of={session.version} />
        </p>
      </aside>
      {isOpen && (
        <button type="button" className="curtain" aria-label="Close navigation" onClick={() => setOpen(false)} />
      )}
      <div className="main">
        <header className="topbar">
          <span className="only-narrow">
            <IconButton icon={Menu} label="Open navigation" onClick={() => setOpen(true)} />
          </span>
          <NamespaceSelect />
          <button type="button" className="search-button" aria-keyshortcuts="Control+K Meta+K" onClick={onSearch}>
            <Search size={15} aria-hidden />
            <span>Search or run a command</span>
            <kbd aria-hidden>Ctrl K</kbd>
          </button>
          <span className="space" />
          <ConnectionStatus />
          <Controls onSignedOut={onSignedOut} />
        </header>
        <main id="content" tabIndex={-1} key={location.split("/")[1]}>
          {children}
        </main>
      </div>
    </div>
  );
}

function skipTo(event: React.MouseEvent): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("#content")?.focus();
}

function Controls({ onSignedOut }: { readonly onSignedOut: () => void }) {
  const { isDark, setTheme, zone, setZone } = usePreferences();
  const backend = useBackend();
  const logOut = (): void =>
    void backend
      .logOut()
      .catch(() => undefined)
      .then(onSignedOut);
  return (
    <div className="controls">
      <button
        type="button"
        className="zone"
        aria-label={`Times are ${zone === "utc" ? "UTC" : "local"}: switch`}
        title="Local times or UTC"
        onClick={() => setZone(zone === "utc" ? "local" : "utc")}
      >
        <Clock size={14} aria-hidden />
        {zone === "utc" ? "UTC" : "Local"}
      </button>
      <IconButton
        icon={isDark ? Sun : Moon}
        label={isDark ? "Light theme" : "Dark theme"}
        onClick={() => setTheme(isDark ? "light" : "dark")}
      />
      <IconButton icon={LogOut} label={`Log out ${cleanText(backend.session.user)}`} onClick={logOut} />
    </div>
  );
}
