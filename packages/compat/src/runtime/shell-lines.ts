/** Where a line begins, and how deep it is in brackets. */
interface State {
  depth: number;
  /** The quotes that end the string that is open. */
  quote: string | undefined;
}

const command = /^([ \t]*)(?:!|%pip\b|%conda\b)(.*)$/s;

/**
 * Python code in which the lines `!command`, `%pip …` and `%conda …` of IPython are calls that run the command in a shell. A line inside
 * of a string or of brackets stays as it is.
 */
export function withShellLines(code: string): string {
  if (!/^[ \t]*[!%]/m.test(code)) return code;
  const state: State = { depth: 0, quote: undefined };
  let isContinued = false;
  const lines = code.split("\n").map((line) => {
    const isStart = state.quote === undefined && state.depth === 0 && !isContinued;
    const found = isStart ? command.exec(line) : null;
    if (found !== null) return callFor(found);
    scan(line, state);
    isContinued = line.endsWith("\\");
    return line;
  });
  return lines.join("\n");
}

function callFor([whole, indent = "", rest = ""]: RegExpExecArray): string {
  const magic = /^%(\w+)/.exec(whole.trim())?.[1];
  const text = magic === undefined ? rest : `${magic}${rest}`;
  // A JSON string is a Python string, but for characters beyond ASCII in pairs.
  const quoted = JSON.stringify(text.trim()).replace(/[\u007f-\uffff]/g, escaped);
  return `${indent}__import__("subprocess").run(${quoted}, shell=True, check=False) and None`;
}

const escaped = (unit: string): string => {
  const code = unit.codePointAt(0) ?? 0;
  return `\\u${code.toString(16).padStart(4, "0")}`;
};

function scan(line: string, state: State): void {
  for (let at = 0; at < line.length; at++) {
    const letter = line[at] ?? "";
    if (state.quote !== undefined) {
      if (letter === "\\") at++;
      else if (line.startsWith(state.quote, at)) {
        at += state.quote.length - 1;
        state.quote = undefined;
      }
    } else if (letter === "#") return endLine(state);
    else if (letter === '"' || letter === "'") {
      state.quote = line.startsWith(letter.repeat(3), at) ? letter.repeat(3) : letter;
      at += state.quote.length - 1;
    } else if ("([{".includes(letter)) state.depth++;
    else if (")]}".includes(letter)) state.depth = Math.max(0, state.depth - 1);
  }
  if (!line.endsWith("\\")) endLine(state);
}

/** Only a string in three quotes goes on in the next line. */
function endLine(state: State): void {
  if (state.quote?.length === 1) state.quote = undefined;
}
