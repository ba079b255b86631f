import { RE2JS } from "re2js";
import { patternSize } from "./pattern-size.ts";

// Patterns come with the schemas of CRDs, so there are as many as those have; the bounds are for a server that lives long
// and sees many CRDs come and go, and for patterns that are made to be large. A step takes some 300 bytes.
const mostPatterns = 1000;
const mostSteps = 200_000;
const compiled = new Map<string, RE2JS | undefined>();
let steps = 0;

/** A tenth of a second to compile. No pattern that someone wrote comes near. */
const largestPattern = 50_000;

/**
 * Whether the pattern is found in the value, by the rules of RE2: the time is linear in the length of the value, whatever
 * the pattern. A pattern that RE2 refuses, or that is too large, matches nothing.
 */
export function matchesPattern(pattern: string, value: string): boolean {
  return compile(pattern)?.matcher(value).find() ?? false;
}

/** The first texts that the pattern finds, at most as many as asked for. */
export function findAll(pattern: string, value: string, most: number): string[] {
  const found: string[] = [];
  const matcher = compile(pattern)?.matcher(value);
  while (found.length < most && matcher?.find()) found.push(matcher.group() ?? "");
  return found;
}

export function isPattern(pattern: string): boolean {
  return compile(pattern) !== undefined;
}

/** How much work the first use of a pattern is; none once it is compiled. */
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
