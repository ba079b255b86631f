import { RE2JS } from "re2js";
import { patternSize } from "./pattern-size.ts";

// Patterns come from the schemas of CRDs. The limits are for a long-running server with many changing CRDs, and for patterns
// that are large on purpose. A step takes about 300 bytes.
const mostPatterns = 1000;
const mostSteps = 200_000;
const compiled = new Map<string, RE2JS | undefined>();
let steps = 0;

/** Takes a tenth of a second to compile. Patterns in real CRDs are far smaller. */
const largestPattern = 50_000;

/**
 * Whether the value matches the pattern, by the rules of RE2: the time is linear in the length of the value for every
 * pattern. A pattern that RE2 rejects, or that is too large, matches nothing.
 */
export function matchesPattern(pattern: string, value: string): boolean {
  return compile(pattern)?.matcher(value).find() ?? false;
}

/** The first matches of the pattern, at most `most`. */
export function findAll(pattern: string, value: string, most: number): string[] {
  const found: string[] = [];
  const matcher = compile(pattern)?.matcher(value);
  while (found.length < most && matcher?.find()) found.push(matcher.group() ?? "");
  return found;
}

export function isPattern(pattern: string): boolean {
  return compile(pattern) !== undefined;
}

/** The cost of compiling a pattern; zero if it is already compiled. */
export function compileSteps(pattern: string): number {
  return compiled.has(pattern) ? 0 : patternSize(pattern);
}

function compile(pattern: string): RE2JS | undefined {
  if (compiled.has(pattern)) return compiled.get(pattern);
  const size = pattern.length > largestPattern ? Number.POSITIVE_INFINITY : patternSize(pattern);
  if (size > largestPattern) return undefined;
  if (compiled.size >= mostPatterns || steps + size > mostSteps) {
    compiled.clear();
    steps = 0;
  }
  const result = tryCompile(pattern);
  compiled.set(pattern, result);
  steps += size;
  return result;
}

function tryCompile(pattern: string): RE2JS | undefined {
  try {
    return RE2JS.compile(pattern);
  } catch {
    return undefined;
  }
}
