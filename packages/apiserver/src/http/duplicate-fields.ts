/** The maximum number of duplicates in one response. */
const maxFound = 20;
/** Paths are truncated to this length, because a hostile one can be as long as the body. */
const maxPath = 256;

interface Level {
  /** The keys of an object so far, and whether each was already reported. `undefined` for a list. */
  readonly keys: Map<string, boolean> | undefined;
  /** The current key. */
  key: string;
  /** The current item of a list. */
  index: number;
  /** Whether the next string is a key. */
  expectsKey: boolean;
}

/**
 * Finds duplicate keys in valid JSON, such as `metadata.labels.app`. `JSON.parse` keeps the last value without reporting the
 * others.
 */
export function duplicateFields(text: string): string[] {
  const found = new Set<string>();
  const levels: Level[] = [];
  for (let at = 0; at < text.length && found.size < maxFound; at += 1) {
    const level = levels.at(-1);
    switch (text[at]) {
      case "{":
        levels.push({ keys: new Map(), key: "", index: 0, expectsKey: true });
        break;
      case "[":
        levels.push({ keys: undefined, key: "", index: 0, expectsKey: false });
        break;
      case "}":
      case "]":
        levels.pop();
        break;
      case ",":
        if (level !== undefined) nextMember(level);
        break;
      case '"': {
        const end = endOfString(text, at);
        if (level?.expectsKey === true && isRepeated(level, text.slice(at, end + 1))) found.add(pathOf(levels));
        at = end;
        break;
      }
      default:
    }
  }
  return [...found];
}

function nextMember(level: Level): void {
  level.index += 1;
  level.expectsKey = level.keys !== undefined;
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text[end - escapes - 1] === "\\") escapes += 1;
    if (escapes % 2 === 0) return end;
  }
}

/** Records a key. Returns true when it occurs for the second time. */
function isRepeated(level: Level, quoted: string): boolean {
  level.key = quoted.includes("\\") ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  level.expectsKey = false;
  const known = level.keys?.get(level.key);
  level.keys?.set(level.key, known !== undefined);
  return known === false;
}

function pathOf(levels: readonly Level[]): string {
  const path = levels.map(({ keys, key, index }) => (keys === undefined ? `[${index}]` : `.${key}`)).join("");
  return path.replace(/^\./, "").slice(0, maxPath);
}
