import { Optional } from "@marcbachmann/cel-js";
import { isOfFormat } from "../../formats.ts";
import { matchesPattern } from "../../pattern.ts";
import { spend, weightOf } from "../budget.ts";
import type { Library } from "./library.ts";
import { isUrl } from "./urls.ts";

type Problems = (text: string) => string[];

/** A named string format, such as that of a DNS label. */
export class Format {
  readonly problems: Problems;

  constructor(problems: Problems) {
    this.problems = problems;
  }

  equals(other: unknown): boolean {
    return other instanceof Format && other.problems === this.problems;
  }
}

interface Shape {
  readonly pattern: string;
  readonly most: number;
  readonly rule: string;
  readonly examples: readonly string[];
}

const ends = "must start and end with an alphanumeric character";
const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomain: Shape = {
  pattern: `${label}(\\.${label})*`,
  most: 253,
  rule: `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and ${ends}`,
  examples: ["example.com"],
};
const dnsLabel: Shape = {
  pattern: label,
  most: 63,
  rule: `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and ${ends}`,
  examples: ["my-name", "123-abc"],
};
const oldLabel: Shape = {
  pattern: "[a-z]([-a-z0-9]*[a-z0-9])?",
  most: 63,
  rule: "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  examples: ["my-name", "abc-123"],
};
const word = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const labelValue: Shape = {
  pattern: `(${word})?`,
  most: 63,
  rule: `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and ${ends}`,
  examples: ["MyValue", "my_value", "12345"],
};
const keyName: Shape = {
  pattern: word,
  most: 63,
  rule: `must consist of alphanumeric characters, '-', '_' or '.', and ${ends}`,
  examples: ["MyName", "my.name", "123-abc"],
};

const fits = ({ pattern }: Shape, text: string): boolean => matchesPattern(`^${pattern}$`, text);

function mismatch({ rule, pattern, examples }: Shape): string {
  const some = examples.map((example) => `'${example}'`).join(",  or ");
  return `${rule} (e.g. ${some}, regex used for validation is '${pattern}')`;
}

const shaped =
  (shape: Shape): Problems =>
  (text) => [
    ...(Buffer.byteLength(text) > shape.most ? [`must be no more than ${shape.most} bytes`] : []),
    ...(fits(shape, text) ? [] : [mismatch(shape)]),
  ];

const labelProblems: Problems = (text) =>
  shaped(dnsLabel)(text).map((problem) =>
    problem === mismatch(dnsLabel) && fits(subdomain, text) ? "must not contain dots" : problem,
  );

/** Validates a prefix of a name, which may end with a hyphen. */
const prefix =
  (problems: Problems): Problems =>
  (text) =>
    problems(text.length > 1 && text.endsWith("-") ? `${text.slice(0, -2)}a` : text);

const qualifiedName: Problems = (text) => {
  const parts = text.split("/");
  const name = parts.at(-1) ?? "";
  if (parts.length > 2) {
    return [
      `a valid label key ${mismatch(keyName)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const before = parts.length === 1 ? [] : parts[0] === "" ? ["must be non-empty"] : shaped(subdomain)(parts[0] ?? "");
  return [
    ...before.map((problem) => `prefix part ${problem}`),
    ...(name === "" ? ["name part must be non-empty"] : []),
    ...shaped(keyName)(name).map((problem) => `name part ${problem}`),
  ];
};

const known =
  (format: string, problem: string): Problems =>
  (text) =>
    isOfFormat(format, text) ? [] : [problem];

const formats: ReadonlyMap<string, Format> = new Map(
  Object.entries({
    dns1123Label: labelProblems,
    dns1123Subdomain: shaped(subdomain),
    dns1035Label: shaped(oldLabel),
    qualifiedName,
    dns1123LabelPrefix: prefix(labelProblems),
    dns1123SubdomainPrefix: prefix(shaped(subdomain)),
    dns1035LabelPrefix: prefix(shaped(oldLabel)),
    labelValue: shaped(labelValue),
    uri: (text: string) => (isUrl(text) ? [] : [`parse ${JSON.stringify(text)}: invalid URI for request`]),
    uuid: known("uuid", "does not match the UUID format"),
    byte: known("byte", "invalid base64"),
    date: known("date", "invalid date"),
    datetime: known("datetime", "invalid datetime"),
  }).map(([name, problems]) => [name, new Format(problems)] as const),
);

function validate({ problems }: Format, text: string): Optional {
  spend(10 * (1 + weightOf(text)));
  const found = problems(text);
  return found.length === 0 ? Optional.none() : Optional.of(found);
}

export const namedFormats: Library = {
  types: { "kubernetes.NamedFormat": Format },
  namespaces: ["format"],
  equals: { "kubernetes.NamedFormat": (a: Format, b: Format) => a.equals(b) },
  functions: {
    ...Object.fromEntries(
      [...formats].map(([name, format]) => [`namespace.format.${name}(): kubernetes.NamedFormat`, () => format]),
    ),
    "namespace.format.named(string): optional<kubernetes.NamedFormat>": (_: unknown, name: string) =>
      Optional.of(formats.get(name)),
    "kubernetes.NamedFormat.validate(string): optional<list<string>>": validate,
  },
};
