/** Finds commands by what somebody types. All words must be found in the title or the keywords. Pure. */

export interface Rankable {
  readonly title: string;
  /** Further words that find it, such as the kind and the namespace. */
  readonly keywords?: string;
  /** Of commands that match equally well, those with more weight are first. Default: 0. */
  readonly weight?: number;
  /** It deletes something, so all other matches are ranked before it. */
  readonly isDanger?: boolean;
  /** Shown while nothing is typed. */
  readonly isFirst?: boolean;
}

/** The commands that match, the best ones first. Without words: those that are shown first, in their order. */
export function rank<T extends Rankable>(commands: readonly T[], text: string, most: number): T[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return commands.filter(({ isFirst }) => isFirst === true).slice(0, most);
  return commands
    .map((command, index) => ({ command, index, score: scoreOf(command, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || byWeight(a.command, b.command) || a.index - b.index)
    .slice(0, most)
    .map(({ command }) => command);
}

/** Of two titles that match equally well, more of the shorter one was typed. */
function byWeight(a: Rankable, b: Rankable): number {
  return (b.weight ?? 0) - (a.weight ?? 0) || a.title.length - b.title.length;
}

/** 0: a word is not found. */
function scoreOf({ title, keywords = "", isDanger }: Rankable, words: readonly string[]): number {
  const name = title.toLowerCase();
  const others = keywords.toLowerCase();
  let sum = name === words.join(" ") ? 10 : 0;
  for (const word of words) {
    const score = scoreOfWord(name, others, word);
    if (score === 0) return 0;
    sum += score;
  }
  return (sum / words.length) * (isDanger === true ? dangerFactor : 1);
}

/** Less than the lowest score of a word divided by the highest. */
const dangerFactor = 0.1;

function scoreOfWord(name: string, others: string, word: string): number {
  const at = name.indexOf(word);
  if (at === 0) return 8;
  if (at > 0) return beginsWord(name, word) ? 6 : 4;
  return others.includes(word) ? (beginsWord(` ${others}`, word) ? 3 : 2) : 0;
}

function beginsWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (at === 0 || /[\s/.:_-]/.test(text[at - 1] ?? "")) return true;
  }
  return false;
}
