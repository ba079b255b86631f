import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseAst } from "rolldown/parseAst";
import type { ESTree } from "rolldown/utils";
import { commentBefore } from "./comment-before.ts";

/** A field of an interface that describes settings. */
export interface Setting {
  readonly path: string;
  readonly type: string;
  readonly about: string;
}

const root = join(import.meta.dirname, "../..");

interface Module {
  readonly file: string;
  readonly text: string;
  readonly body: readonly (ESTree.Directive | ESTree.Statement)[];
}

/** An interface and the module it is declared in, which is needed to find the types of its fields. */
interface Found {
  readonly module: Module;
  readonly members: readonly ESTree.TSSignature[];
}

/** The fields of an interface and of the interfaces it contains, with their comments. */
export function settingsOf(file: string, type: string): Setting[] {
  const found = findType(read(join(root, file)), type);
  if (found === undefined) throw new Error(`Cannot describe "${type}": ${file} does not declare it`);
  return fieldsOf(found, "");
}

function fieldsOf({ module, members }: Found, above: string): Setting[] {
  return members.flatMap((member) => {
    const key = keyOf(member);
    if (member.type !== "TSPropertySignature" || key === "") return [];
    const path = `${above}${key}`;
    const about = commentBefore(module.text, member.start);
    const type = member.typeAnnotation?.typeAnnotation;
    if (type === undefined) return [{ path, type: "", about }];
    const { list, inner, only } = unwrap(type);
    const nested = nestedIn(module, inner);
    if (nested === undefined) return [{ path, type: typeText(module, type), about }];
    const own = about === "" ? [] : [{ path, type: list ? "list" : "object", about }];
    const parts = nested.map((one) =>
      only === undefined ? one : { ...one, members: one.members.filter((field) => only.includes(keyOf(field))) },
    );
    return [...own, ...parts.flatMap((part) => fieldsOf(part, `${path}${list ? "[]" : ""}.`))];
  });
}

/** Removes `readonly`, `[]`, `| undefined`, `Partial<>` and `Pick<>` from around a type. */
function unwrap(type: ESTree.TSType): { list: boolean; inner: ESTree.TSType; only?: readonly string[] } {
  if (type.type === "TSTypeOperator") return unwrap(type.typeAnnotation);
  if (type.type === "TSArrayType") return { ...unwrap(type.elementType), list: true };
  if (type.type === "TSUnionType") {
    const [first, ...others] = type.types.filter((one) => one.type !== "TSUndefinedKeyword");
    return first !== undefined && others.length === 0 ? unwrap(first) : { list: false, inner: type };
  }
  if (type.type === "TSTypeReference" && type.typeName.type === "Identifier") {
    const [first, second] = type.typeArguments?.params ?? [];
    if (type.typeName.name === "Partial" && first !== undefined) return unwrap(first);
    if (type.typeName.name === "Pick" && first !== undefined && second !== undefined) {
      return { ...unwrap(first), only: namesIn(second) };
    }
  }
  return { list: false, inner: type };
}

function namesIn(type: ESTree.TSType): string[] {
  if (type.type === "TSUnionType") return type.types.flatMap(namesIn);
  return type.type === "TSLiteralType" && type.literal.type === "Literal" ? [String(type.literal.value)] : [];
}

function keyOf(member: ESTree.TSSignature): string {
  if (member.type !== "TSPropertySignature") return "";
  if (member.key.type === "Literal") return String(member.key.value);
  return member.key.type === "Identifier" ? member.key.name : "";
}

/** The interfaces that a type consists of; undefined for other types. */
function nestedIn(module: Module, type: ESTree.TSType): Found[] | undefined {
  if (type.type === "TSIntersectionType") {
    const parts = type.types.map((part) => nestedIn(module, part));
    return parts.every((part) => part !== undefined) ? parts.flat() : undefined;
  }
  const found = type.type === "TSTypeReference" ? nestedType(module, type) : undefined;
  return found && [found];
}

function nestedType(module: Module, { typeName }: ESTree.TSTypeReference): Found | undefined {
  if (typeName.type !== "Identifier") return undefined;
  const here = findType(module, typeName.name);
  if (here !== undefined) return here;
  for (const statement of module.body) {
    if (statement.type !== "ImportDeclaration") continue;
    if (!statement.specifiers.some(({ local }) => local.name === typeName.name)) continue;
    const from = fileOf(module, statement.source.value);
    return from === undefined ? undefined : findType(read(from), typeName.name);
  }
  return undefined;
}

/** The file of a relative import or of one of our packages. */
function fileOf(module: Module, specifier: string): string | undefined {
  if (specifier.startsWith(".")) return join(dirname(module.file), specifier);
  const owner = /^@agent-sandbox\/([^/]+)$/.exec(specifier)?.[1];
  const file = join(root, `packages/${owner}/src/index.ts`);
  return existsSync(file) ? file : undefined;
}

/** The interface with a name, also if the module only exports it from another one. */
function findType(module: Module, name: string): Found | undefined {
  for (const statement of module.body) {
    const declared = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
    if (declared?.type === "TSInterfaceDeclaration" && declared.id.name === name) {
      return { module, members: declared.body.body };
    }
    if (statement.type !== "ExportNamedDeclaration" || statement.source === null) continue;
    if (!statement.specifiers.some(({ exported }) => exported.type === "Identifier" && exported.name === name))
      continue;
    const from = fileOf(module, statement.source.value);
    if (from !== undefined) return findType(read(from), name);
  }
  return undefined;
}

/** The text of a type. A name that stands for several words is replaced by the words. */
function typeText(module: Module, type: ESTree.TSType): string {
  const text = module.text.slice(type.start, type.end);
  const alias = new RegExp(`^export type ${text} =([^;]+);`, "m").exec(module.text)?.[1];
  return (alias ?? text)
    .replaceAll(/\breadonly /g, "")
    .replaceAll(/\s*\|\s*undefined/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

function read(file: string): Module {
  const text = readFileSync(file, "utf8");
  return { file, text, body: parseAst(text, { lang: "ts" }).body };
}
