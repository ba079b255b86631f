/** Extracts the message from a runtime's log line: `time="…" level=error msg="…"`. */
export function runtimeMessage(output: string): string {
  const said = [...output.matchAll(/\bmsg=("(?:[^"\\]|\\.)*")/g)].map((match) => unquote(match[1] ?? ""));
  return (said.at(-1) ?? output).trim();
}

function unquote(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted;
  }
}
