/** Names of repeated members given in one answer. */
const maxFound = 20;

/** Strings and the marks of structure; numbers, literals and spaces between them say nothing about members. */
const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/gs;

interface Level {
  /** The members of an object so far; of a list, none. */
  readonly keys: Set<string> | undefined;
  /** Where the level is, such as `spec.containers[0]`. */
  readonly path: string;
  /** Where its current member or item is. */
  at: string;
  index: number;
  /** Whether the next string is the name of a member. */
  expectsKey: boolean;
}

/**
 * Where a JSON text, which has been parsed before, names the same member twice, such as `metadata.labels.app`: parsing keeps the
 * last one and forgets the others.
 */
export function duplicateFields(text: string): string[] {
  const found = new Set<string>();
  const levels: Level[] = [];
  for (const [mark] of text.matchAll(token)) {
    const level = levels.at(-1);
    if (mark === "{" || mark === "[") levels.push(opened(mark, level?.at ?? ""));
    else if (mark === "}" || mark === "]") levels.pop();
    else if (mark === ",") nextMember(level);
    else if (level?.keys !== undefined && level.expectsKey) {
      const name = JSON.parse(mark) as string;
      level.at = level.path === "" ? name : `${level.path}.${name}`;
      level.expectsKey = false;
      if (level.keys.has(name)) found.add(level.at);
      level.keys.add(name);
      if (found.size === maxFound) break;
    }
  }
  return [...found];
}

function opened(mark: "{" | "[", path: string): Level {
  return mark === "{"
    ? { keys: new Set(), path, at: path, index: 0, expectsKey: true }
    : { keys: undefined, path, at: `${path}[0]`, index: 0, expectsKey: false };
}

function nextMember(level: Level | undefined): void {
  if (level === undefined) return;
  level.expectsKey = level.keys !== undefined;
  if (level.keys !== undefined) return;
  level.index += 1;
  level.at = `${level.path}[${level.index}]`;
}
