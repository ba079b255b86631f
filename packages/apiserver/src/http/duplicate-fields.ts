/** Names of repeated members given in one answer. */
const maxFound = 20;
/** A path is cut after so many characters: a hostile one can be as long as a body. */
const maxPath = 256;

interface Level {
  /** The members of an object so far, and whether each was found to be repeated; of a list, none. */
  readonly keys: Map<string, boolean> | undefined;
  /** The current member. */
  key: string;
  /** The current item of a list. */
  index: number;
  /** Whether the next string is the name of a member. */
  expectsKey: boolean;
}

/**
 * Where a JSON text, which has been parsed before, names the same member twice, such as `metadata.labels.app`: parsing keeps
 * the last one and forgets the others.
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

/** Takes the name of a member; true the first time that it is named again. */
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
