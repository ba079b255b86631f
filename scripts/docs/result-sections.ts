/** A page of sections with the given ones replaced or added, in the order of their names. The text before the first section stays. */
export function withSections(page: string, changed: readonly (readonly [name: string, text: string])[]): string {
  const [head = "", ...sections] = page.split(/^(?=## )/m);
  const texts = new Map(sections.map((text) => [/^## (\S+)/.exec(text)?.[1] ?? "", text.trimEnd()]));
  for (const [name, text] of changed) texts.set(name, text.trimEnd());
  const names = [...texts.keys()].sort();
  return `${[head.trimEnd(), ...names.map((name) => texts.get(name))].join("\n\n")}\n`;
}
