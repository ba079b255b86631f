/** The interpreters that sandboxd has, by every name that clients use for them. */
const interpreters: Readonly<Record<string, string>> = {
  python: "python",
  python3: "python",
  javascript: "javascript",
  js: "javascript",
};

const shells: ReadonlySet<string> = new Set(["bash", "sh"]);

export type Language =
  | { readonly kind: "interpreter"; readonly name: string }
  | { readonly kind: "shell" }
  | { readonly kind: "unknown"; readonly name: string };

export function languageOf(text: string | undefined): Language {
  const name = (text ?? "python").toLowerCase();
  const interpreter = Object.hasOwn(interpreters, name) ? interpreters[name] : undefined;
  if (interpreter !== undefined) return { kind: "interpreter", name: interpreter };
  return shells.has(name) ? { kind: "shell" } : { kind: "unknown", name: name.slice(0, 64) };
}
