import { invalidRequest } from "./execd-error.ts";

const maxLength = 1024;
const maxAlternatives = 64;

type Token =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "one" }
  | { readonly kind: "many" }
  | { readonly kind: "set"; readonly negated: boolean; readonly ranges: readonly (readonly [string, string])[] };

/**
 * A pattern for the names of files: `*`, `?`, `[a-z]`, `[!a]` and `{one,two}`. It is matched without a regular expression, so that no
 * pattern takes exponential time.
 */
export function namePattern(pattern: string): (name: string) => boolean {
  if (pattern.length > maxLength) throw invalidRequest(`pattern can have ${maxLength} characters`);
  // Every name is in some folder.
  const plain = pattern.replace(/^(?:\*\*\/)+/, "");
  if (plain.includes("/")) throw invalidRequest("pattern is for the names of files, and cannot contain a slash");
  const alternatives = alternativesOf(plain).map(tokensOf);
  return (name) => alternatives.some((tokens) => matches(tokens, Array.from(name)));
}

function alternativesOf(pattern: string): readonly string[] {
  let done: readonly string[] = [""];
  let rest = pattern;
  for (;;) {
    const [whole, before = "", inner = ""] = /^([^{]*)\{([^{}]*)\}/.exec(rest) ?? [];
    if (whole === undefined) return done.map((start) => start + rest);
    const choices = inner.split(",").map((choice) => before + choice);
    if (done.length * choices.length > maxAlternatives) {
      throw invalidRequest(`pattern can have ${maxAlternatives} alternatives`);
    }
    done = done.flatMap((start) => choices.map((choice) => start + choice));
    rest = rest.slice(whole.length);
  }
}

function tokensOf(pattern: string): readonly Token[] {
  const tokens: Token[] = [];
  const letters = Array.from(pattern);
  for (let at = 0; at < letters.length; at++) {
    const letter = letters[at] ?? "";
    const end = letter === "[" ? letters.indexOf("]", at + 2) : -1;
    if (letter === "*") tokens.push({ kind: "many" });
    else if (letter === "?") tokens.push({ kind: "one" });
    else if (end > 0) {
      tokens.push(setOf(letters.slice(at + 1, end)));
      at = end;
    } else tokens.push({ kind: "text", text: letter });
  }
  return tokens;
}

function setOf(letters: readonly string[]): Token {
  const negated = letters[0] === "!" || letters[0] === "^";
  const members = negated ? letters.slice(1) : letters;
  const ranges: (readonly [string, string])[] = [];
  for (let at = 0; at < members.length; at++) {
    const [first = "", dash, last] = members.slice(at, at + 3);
    const isRange = dash === "-" && last !== undefined;
    ranges.push([first, isRange ? last : first]);
    if (isRange) at += 2;
  }
  return { kind: "set", negated, ranges };
}

/** After a mismatch only the last `*` takes one more letter: the time is that of both lengths multiplied. */
function matches(tokens: readonly Token[], letters: readonly string[]): boolean {
  let [token, letter] = [0, 0];
  let [starred, taken] = [-1, 0];
  while (letter < letters.length) {
    const wanted = tokens[token];
    if (wanted?.kind === "many") {
      [starred, taken] = [token, letter];
      token++;
    } else if (wanted !== undefined && accepts(wanted, letters[letter] ?? "")) {
      token++;
      letter++;
    } else if (starred >= 0) {
      taken++;
      [token, letter] = [starred + 1, taken];
    } else return false;
  }
  return tokens.slice(token).every(({ kind }) => kind === "many");
}

function accepts(token: Token, letter: string): boolean {
  switch (token.kind) {
    case "text":
      return token.text === letter;
    case "set":
      return token.ranges.some(([first, last]) => first <= letter && letter <= last) !== token.negated;
    default:
      return true;
  }
}
