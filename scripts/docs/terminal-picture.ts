/** A command and what it printed. */
export interface Command {
  readonly command: string;
  readonly output: string;
}

const character = 8.43;
const lineHeight = 20;
const padding = 20;
const titleBar = 36;

const styles = `
  .window { fill: #0d1117 } .bar { fill: #161b22 } .title { fill: #8b949e }
  text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }
  .prompt { fill: #3fb950 } .command { fill: #f0f6fc; font-weight: 600 } .output { fill: #b1bac4 }`;

/** An SVG of a terminal in which the commands were typed. */
export function terminalPicture(title: string, commands: readonly Command[]): string {
  const lines = commands.flatMap(linesOf);
  const columns = Math.max(...lines.map(({ width }) => width), title.length + 16);
  const width = Math.ceil(columns * character) + 2 * padding;
  const height = titleBar + lines.length * lineHeight + 2 * padding;
  const texts = lines.map(({ svg }, index) => {
    const y = titleBar + padding + (index + 1) * lineHeight - 6;
    return svg === "" ? "" : `<text x="${padding}" y="${y}" xml:space="preserve">${svg}</text>\n`;
  });
  const lights = ["#ff5f57", "#febc2e", "#28c840"].map(
    (color, index) => `<circle cx="${padding + 4 + index * 20}" cy="${titleBar / 2}" r="6" fill="${color}"/>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
<style>${styles}
</style>
<rect class="window" width="${width}" height="${height}" rx="10"/>
<path class="bar" d="M0 ${titleBar}V10a10 10 0 0 1 10-10H${width - 10}a10 10 0 0 1 10 10v${titleBar - 10}z"/>
${lights.join("")}
<text class="title" x="${width / 2}" y="${titleBar / 2 + 5}" text-anchor="middle">${escaped(title)}</text>
${texts.join("")}</svg>
`;
}

interface Line {
  readonly svg: string;
  /** In characters. */
  readonly width: number;
}

function linesOf({ command, output }: Command): Line[] {
  const typed = `<tspan class="prompt">$ </tspan><tspan class="command">${escaped(command)}</tspan>`;
  const printed = output
    .trimEnd()
    .split("\n")
    .filter((line, index) => line !== "" || index > 0)
    .map((line) => ({
      svg: line.trim() === "" ? "" : `<tspan class="output">${escaped(line)}</tspan>`,
      width: line.length,
    }));
  return [{ svg: typed, width: command.length + 2 }, ...printed];
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (found) => entities[found] ?? found);
}
