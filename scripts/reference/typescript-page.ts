import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseAst } from "rolldown/parseAst";
import type { ESTree } from "rolldown/utils";
import { commentBefore } from "./comment-before.ts";

interface Source {
  readonly text: string;
  readonly body: readonly (ESTree.Directive | ESTree.Statement)[];
}

type Declaration = NonNullable<ESTree.ExportNamedDeclaration["declaration"]>;

interface Exported {
  readonly source: Source;
  readonly statement: ESTree.ExportNamedDeclaration;
  readonly declaration: Declaration;
}

/** The names that a module exports, with their signatures and comments: functions, then classes, then types. */
export function typescriptPage(index: string): string {
  return exportsOf(index)
    .sort((a, b) => rank(a.declaration) - rank(b.declaration))
    .map(describe)
    .join("\n");
}

function exportsOf(index: string): Exported[] {
  const source = parse(index);
  const exported: Exported[] = [];
  for (const statement of source.body) {
    if (statement.type === "ExportAllDeclaration") {
      exported.push(...exportsOf(join(dirname(index), statement.source.value)));
    }
    if (statement.type !== "ExportNamedDeclaration") continue;
    if (statement.declaration !== null) exported.push({ source, statement, declaration: statement.declaration });
    if (statement.source === null) continue;
    const from = parse(join(dirname(index), statement.source.value));
    for (const specifier of statement.specifiers) exported.push(find(from, nameOf(specifier.exported)));
  }
  return exported;
}

function rank({ type }: Declaration): number {
  return type === "FunctionDeclaration" ? 0 : type === "ClassDeclaration" ? 1 : 2;
}

function parse(file: string): Source {
  const text = readFileSync(file, "utf8");
  return { text, body: parseAst(text, { lang: "ts" }).body };
}

function find(source: Source, name: string): Exported {
  for (const statement of source.body) {
    if (statement.type !== "ExportNamedDeclaration" || statement.declaration === null) continue;
    const { declaration } = statement;
    if (declaredName(declaration) === name) return { source, statement, declaration };
  }
  throw new Error(`Cannot describe "${name}": no declaration in the file that it is exported from`);
}

function declaredName(declaration: Declaration): string | undefined {
  return "id" in declaration && declaration.id?.type === "Identifier" ? declaration.id.name : undefined;
}

function describe({ source, statement, declaration }: Exported): string {
  const heading = `## ${declaredName(declaration)}\n\n`;
  const comment = commentBefore(source.text, statement.start);
  const text = comment === "" ? "" : `${comment}\n\n`;
  switch (declaration.type) {
    case "ClassDeclaration":
      return `${heading}${text}${classMembers(source, declaration.body.body)}`;
    case "TSInterfaceDeclaration": {
      const bases = declaration.extends.map((base) => `\`${textOf(source, base)}\``).join(", ");
      const inherited = bases === "" ? "" : `Has the fields of ${bases} too.\n\n`;
      return `${heading}${text}${inherited}${declaration.body.body.map((member) => entry(source, member, member.end)).join("")}`;
    }
    case "FunctionDeclaration":
      return `${heading}\`\`\`typescript\n${signature(source, declaration.start, declaration.body?.start ?? declaration.end)}\n\`\`\`\n\n${text}`;
    default:
      return `${heading}\`\`\`typescript\n${textOf(source, declaration)}\n\`\`\`\n\n${text}`;
  }
}

/** Public methods and fields. The SDK makes the objects of these classes, so constructors and static methods are left out. */
function classMembers(source: Source, members: readonly ESTree.ClassElement[]): string {
  let text = "";
  for (const member of members) {
    if (member.type !== "PropertyDefinition" && member.type !== "MethodDefinition") continue;
    if (member.key.type === "PrivateIdentifier" || member.accessibility === "private" || member.static) continue;
    if ("kind" in member && member.kind === "constructor") continue;
    const { value } = member;
    text += entry(source, member, (value?.type === "FunctionExpression" ? value.body : value)?.start ?? member.end);
  }
  return text;
}

function entry(source: Source, member: ESTree.Span, end: number): string {
  const comment = commentBefore(source.text, member.start);
  return `- \`${signature(source, member.start, end)}\`${comment === "" ? "" : `\\\n  ${comment.replaceAll("\n", "\n  ")}`}\n`;
}

function signature(source: Source, start: number, end: number): string {
  return source.text
    .slice(start, end)
    .replaceAll(/\s+/g, " ")
    .replaceAll("( ", "(")
    .replaceAll(/,? \)/g, ")")
    .replace(/^async (?!function)/, "")
    .replace(/^(override )?(readonly )?/, "")
    .replace(/[=;{ ]+$/, "");
}

function textOf(source: Source, { start, end }: ESTree.Span): string {
  return source.text.slice(start, end);
}

function nameOf(name: ESTree.ModuleExportName): string {
  return name.type === "Literal" ? name.value : name.name;
}
