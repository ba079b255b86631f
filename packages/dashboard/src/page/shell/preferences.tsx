/** What a user may choose for this browser: the theme, and the zone of times. Nothing secret: it is kept in local storage. */
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";

export type Theme = "system" | "light" | "dark";
export type Zone = "local" | "utc";

interface Preferences {
  readonly theme: Theme;
  readonly zone: Zone;
  /** What the theme is now: that of the system, or the chosen one. */
  readonly isDark: boolean;
  readonly setTheme: (theme: Theme) => void;
  readonly setZone: (zone: Zone) => void;
}

const context = createContext<Preferences>({
  theme: "system",
  zone: "local",
  isDark: false,
  setTheme: () => undefined,
  setZone: () => undefined,
});

export function usePreferences(): Preferences {
  return useContext(context);
}

function stored<T extends string>(key: string, values: readonly T[], otherwise: T): T {
  const value = localStorage.getItem(key);
  return values.find((one) => one === value) ?? otherwise;
}

export function PreferencesProvider({ children }: { readonly children: ReactNode }) {
  const [theme, setTheme] = useState<Theme>(() => stored("theme", ["system", "light", "dark"], "system"));
  const [zone, setZone] = useState<Zone>(() => stored("zone", ["local", "utc"], "local"));
  const isSystemDark = useSystemDark();
  const isDark = theme === "dark" || (theme === "system" && isSystemDark);
  useEffect(() => {
    document.documentElement.dataset["theme"] = isDark ? "dark" : "light";
    localStorage.setItem("theme", theme);
    localStorage.setItem("zone", zone);
  }, [isDark, theme, zone]);
  const value = useMemo(() => ({ theme, zone, isDark, setTheme, setZone }), [theme, zone, isDark]);
  return <context.Provider value={value}>{children}</context.Provider>;
}

function useSystemDark(): boolean {
  const query = useMemo(() => matchMedia("(prefers-color-scheme: dark)"), []);
  const [isDark, setDark] = useState(query.matches);
  useEffect(() => {
    const change = (): void => setDark(query.matches);
    query.addEventListener("change", change);
    return () => query.removeEventListener("change", change);
  }, [query]);
  return isDark;
}
