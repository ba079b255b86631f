import { toYaml } from "../../packages/api/generate/yaml.ts";

const lineWidth = 116;

/** Several objects as one YAML file. The reasons of rules become comments. */
export function manifestYaml(objects: readonly object[], introduction: string): string {
  const documents = objects.map((object) => withComments(toYaml(object)));
  return `${commentOf(introduction, "")}\n${documents.join("---\n")}`;
}

/** `- why: text` is the first entry of an explained rule. */
function withComments(yaml: string): string {
  return yaml.replaceAll(/^( *)- why: (.*)\n {2}\1/gm, (_all, indent: string, text: string) => {
    const reason = text.startsWith('"') ? (JSON.parse(text) as string) : text;
    return `${commentOf(reason, indent)}\n${indent}- `;
  });
}

/** Wraps the text into comment lines. */
export function commentOf(text: string, indent: string): string {
  const lines: string[] = [];
  for (const paragraph of text.split("\n")) {
    let line = `${indent}#`;
    for (const word of paragraph.split(" ")) {
      if (line.length + word.length + 1 > lineWidth) {
        lines.push(line);
        line = `${indent}#`;
      }
      line = word === "" ? line : `${line} ${word}`;
    }
    lines.push(line);
  }
  return lines.join("\n");
}
