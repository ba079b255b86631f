/** Pages, namespaces and preferences as commands. Pure. */
import type { Theme, Zone } from "../shell/preferences.tsx";
import type { Command } from "./command.ts";

interface PageName {
  readonly href: string;
  readonly title: string;
}

export function pageCommands(pages: readonly PageName[]): Command[] {
  return pages.map(({ href, title }) => ({
    id: `page ${href}`,
    title,
    group: "Pages",
    keywords: "go page",
    weight: 4,
    isFirst: true,
    effect: { do: "go", href },
  }));
}

export function namespaceCommands(names: readonly string[], current: string | undefined, canAll: boolean): Command[] {
  const all: Command = {
    id: "namespace all",
    title: "All namespaces",
    group: "Namespaces",
    keywords: "switch",
    effect: { do: "namespace", namespace: undefined },
  };
  const each = names.map(
    (name): Command => ({
      id: `namespace ${name}`,
      title: `Namespace ${name}`,
      group: "Namespaces",
      keywords: "switch",
      effect: { do: "namespace", namespace: name },
    }),
  );
  return [...(canAll ? [all] : []), ...each].filter(
    ({ effect }) => effect.do === "namespace" && effect.namespace !== current,
  );
}

const themes: readonly (readonly [Theme, string])[] = [
  ["light", "Light theme"],
  ["dark", "Dark theme"],
  ["system", "Theme of the system"],
];

const zones: readonly (readonly [Zone, string])[] = [
  ["local", "Show local times"],
  ["utc", "Show times in UTC"],
];

/** What is chosen now is not offered. */
export function preferenceCommands(now: { readonly theme: Theme; readonly zone: Zone }): Command[] {
  const shared = { group: "Settings", isFirst: true } as const;
  return [
    ...themes
      .filter(([theme]) => theme !== now.theme)
      .map(([theme, title]): Command => {
        return { ...shared, id: `theme ${theme}`, title, keywords: "colour mode", effect: { do: "theme", theme } };
      }),
    ...zones
      .filter(([zone]) => zone !== now.zone)
      .map(([zone, title]): Command => {
        return { ...shared, id: `zone ${zone}`, title, keywords: "time zone clock", effect: { do: "zone", zone } };
      }),
    { ...shared, id: "log out", title: "Log out", keywords: "sign exit session", effect: { do: "log-out" } },
  ];
}
