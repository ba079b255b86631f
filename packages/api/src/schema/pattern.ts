import { RE2JS } from "re2js";

// Patterns come with the schemas of CRDs, so there are as many as those have; the bound is for a server that lives long
// and sees many CRDs come and go.
const mostPatterns = 1000;
const compiled = new Map<string, RE2JS | undefined>();

/**
 * Whether the pattern is found in the value, by the rules of RE2: the time is linear in the length of the value, whatever
 * the pattern. A pattern that RE2 refuses matches nothing.
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

function compile(pattern: string): RE2JS | undefined {
  if (compiled.has(pattern)) return compiled.get(pattern);
  if (compiled.size >= mostPatterns) compiled.clear();
  const result = tryCompile(pattern);
  compiled.set(pattern, result);
  return result;
}

function tryCompile(pattern: string): RE2JS | undefined {
  try {
    return RE2JS.compile(pattern);
  } catch {
    return undefined;
  }
}
