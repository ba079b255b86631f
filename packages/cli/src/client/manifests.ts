import { readFileSync, statSync } from "node:fs";
import type { Readable } from "node:stream";
import { type Document, parseAllDocuments, type ScalarTag, type Tags } from "yaml";
import { CommandError } from "../command-error.ts";

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Record<string, string>;
  };
}

const maxBytes = 16 * 1024 * 1024;

/** Reads all files before anything is done with them. "-" is standard input. */
export async function readManifests(files: readonly string[], stdin: Readable = process.stdin): Promise<Manifest[]> {
  if (files.filter((file) => file === "-").length > 1) throw new CommandError("Cannot read standard input twice");
  const manifests: Manifest[] = [];
  for (const file of files) manifests.push(...(await readFile(file, stdin)));
  return manifests;
}

async function readFile(file: string, stdin: Readable): Promise<Manifest[]> {
  const bytes = file === "-" ? await readAll(stdin) : readFileSync(fileNamed(file));
  if (bytes.length > maxBytes) throw new CommandError(`Cannot read "${file}": it is larger than 16 MiB`);
  return parseManifests(bytes.toString("utf8"), file === "-" ? "standard input" : file);
}

/** Waits for a slow writer, which a synchronous read would not. Stops when there is too much. */
async function readAll(stdin: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes) break;
  }
  return Buffer.concat(chunks);
}

/** Node's own error for reading a folder does not contain its name. */
function fileNamed(path: string): string {
  if (!statSync(path).isDirectory()) return path;
  throw new CommandError(`Cannot read "${path}": it is a folder; pass a file`);
}

/** Parses a file with one or more YAML or JSON documents. Returns the items of `List` objects. */
export function parseManifests(text: string, file: string): Manifest[] {
  const documents = parseAllDocuments(text, { schema: "yaml-1.1", customTags: kubernetesTags, merge: true });
  const objects = [...documents].flatMap((document) => {
    const [problem] = document.errors;
    if (problem !== undefined) throw new CommandError(`Cannot read "${file}": ${firstLine(problem.message)}`);
    const value = valueOf(document, file);
    return value?.kind === "List" && Array.isArray(value.items) ? (value.items as unknown[]) : [value];
  });
  const found = objects.filter((value) => value !== null).map((value, index) => checked(value, file, index));
  if (found.length === 0) throw new CommandError(`Cannot read "${file}": it contains no objects`);
  return found;
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0]?.replace(/:$/, "") ?? text;
}

/** Limits aliases, because nested aliases can expand to more than the memory holds. */
function valueOf(document: Document.Parsed, file: string): { kind?: unknown; items?: unknown } | null {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw new CommandError(`Cannot read "${file}": ${(error as Error).message}`, { cause: error });
  }
}

const newOctal: ScalarTag = {
  tag: "tag:yaml.org,2002:int",
  default: true,
  test: /^[-+]?0o[0-7]{1,17}$/,
  resolve: (text) => Number.parseInt(text.replace("0o", ""), 8),
};

/** Kubernetes reads YAML 1.1 (`0644` is octal, `yes` is true) with YAML 1.2's `0o644`, and leaves dates and `1:30` as text. */
function kubernetesTags(tags: Tags): Tags {
  const isTime = (tag: Tags[number]) =>
    typeof tag !== "string" &&
    (tag.tag === "tag:yaml.org,2002:timestamp" || ("format" in tag && tag.format === "TIME"));
  return [newOctal, ...tags.filter((tag) => !isTime(tag))];
}

function checked(value: unknown, file: string, index: number): Manifest {
  const { apiVersion, kind, metadata } = value as Partial<Manifest>;
  const wrong = (field: string) => new CommandError(`Cannot read "${file}": object ${index + 1} has no ${field}`);
  if (typeof apiVersion !== "string" || apiVersion === "") throw wrong("apiVersion");
  if (typeof kind !== "string" || kind === "") throw wrong("kind");
  if (typeof metadata?.name !== "string" || metadata.name === "") throw wrong("metadata.name");
  return value as Manifest;
}
