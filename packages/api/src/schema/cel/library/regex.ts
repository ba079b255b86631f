import { compileSteps, findAll, isPattern, matchesPattern } from "../../pattern.ts";
import { spend } from "../budget.ts";
import type { Library } from "./library.ts";

/** RE2 takes time proportional to the text and the pattern, and on first use to the expanded pattern. */
function pay(text: string, pattern: string): void {
  spend((1 + text.length / 5) * (1 + pattern.length / 4));
  spend(8 * compileSteps(pattern));
  if (!isPattern(pattern)) throw new Error(`error parsing regexp: ${JSON.stringify(pattern)}`);
}

function matches(text: string, pattern: string): boolean {
  pay(text, pattern);
  return matchesPattern(pattern, text);
}

function find(text: string, pattern: string): string {
  pay(text, pattern);
  return findAll(pattern, text, 1)[0] ?? "";
}

function every(text: string, pattern: string, limit = -1n): string[] {
  pay(text, pattern);
  const found = findAll(pattern, text, limit < 0n ? Number.POSITIVE_INFINITY : Number(limit));
  spend(found.length);
  return found;
}

export const regex: Library = {
  functions: {
    "matches(string, string): bool": matches,
    "string.matches(string): bool": matches,
    "string.find(string): string": find,
    "string.findAll(string): list<string>": (text: string, pattern: string) => every(text, pattern),
    "string.findAll(string, int): list<string>": every,
  },
};
