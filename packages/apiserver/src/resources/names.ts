import { randomInt } from "node:crypto";
import type { ResourceDefinition } from "./definition.ts";

const labelFormat = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const searchFormat = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const subdomainFormat = `${labelFormat}(\\.${labelFormat})*`;
const serviceFormat = "[a-z]([-a-z0-9]*[a-z0-9])?";
const qualifiedFormat = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const valueFormat = `(${qualifiedFormat})?`;
const configKeyFormat = "[-._a-zA-Z0-9]+";

const whole = (format: string): RegExp => new RegExp(`^${format}$`);
const labelPattern = whole(labelFormat);
const searchPattern = whole(searchFormat);
const servicePattern = whole(serviceFormat);
const qualifiedPattern = whole(qualifiedFormat);
const configKeyPattern = whole(configKeyFormat);

const maxLabel = 63;
const maxSubdomain = 253;

/** Why an object's name is invalid, in the words of kube-apiserver. */
export function nameProblems(name: string, rule: ResourceDefinition["nameRule"]): string[] {
  switch (rule) {
    case "subdomain":
      return subdomainProblems(name);
    case "label":
      return labelProblems(name);
    case "service":
      return serviceNameProblems(name);
    case "path-segment":
      return pathSegmentProblems(name);
    default:
      return rule satisfies never;
  }
}

const tooLong = (text: string, most: number): string[] =>
  text.length > most ? [`must be no more than ${most} bytes`] : [];

function mismatch(what: string, format: string, examples: readonly string[]): string {
  return `${what} (e.g. ${examples.map((example) => `'${example}'`).join(",  or ")}, regex used for validation is '${format}')`;
}

const alphanumericEnds = "must start and end with an alphanumeric character";

export function labelProblems(text: string): string[] {
  if (labelPattern.test(text)) return tooLong(text, maxLabel);
  const rule = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and ${alphanumericEnds}`;
  const dotted = isSubdomain(text) && text.includes(".");
  return [
    ...tooLong(text, maxLabel),
    dotted ? "must not contain dots" : mismatch(rule, labelFormat, ["my-name", "123-abc"]),
  ];
}

export function subdomainProblems(text: string): string[] {
  const rule = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and ${alphanumericEnds}`;
  const fits = labelPattern.test(text) || text.split(".").every((part) => labelPattern.test(part));
  return fits
    ? tooLong(text, maxSubdomain)
    : [...tooLong(text, maxSubdomain), mismatch(rule, subdomainFormat, ["example.com"])];
}

/** DNS search paths: like a subdomain, but with underscores. */
export function searchPathProblems(text: string): string[] {
  const rule = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and ${alphanumericEnds}`;
  const fits = text.split(".").every((part) => searchPattern.test(part));
  const format = `${searchFormat}(\\.${searchFormat})*`;
  return [...tooLong(text, maxSubdomain), ...(fits ? [] : [mismatch(rule, format, ["example.com"])])];
}

function serviceNameProblems(text: string): string[] {
  const rule =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
  const fits = servicePattern.test(text);
  return [...tooLong(text, maxLabel), ...(fits ? [] : [mismatch(rule, serviceFormat, ["my-name", "abc-123"])])];
}

/** Names whose only restriction is that they are one segment of a URL path. */
function pathSegmentProblems(text: string): string[] {
  if (text === "." || text === "..") return [`may not be '${text}'`];
  return ["/", "%"].filter((mark) => text.includes(mark)).map((mark) => `may not contain '${mark}'`);
}

/** `name` or `prefix/name`: keys of labels and annotations, finalizers, conditions. */
export function qualifiedNameProblems(text: string): string[] {
  if (isQualifiedName(text)) return [];
  const parts = text.split("/");
  const rule = `must consist of alphanumeric characters, '-', '_' or '.', and ${alphanumericEnds}`;
  const examples = ["MyName", "my.name", "123-abc"];
  if (parts.length > 2) {
    return [
      `a valid label key ${mismatch(rule, qualifiedFormat, examples)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const name = parts.at(-1) as string;
  const prefix = parts.length === 2 ? (parts[0] as string) : undefined;
  const prefixProblems = prefix === undefined ? [] : prefix === "" ? ["must be non-empty"] : subdomainProblems(prefix);
  return [
    ...prefixProblems.map((problem) => `prefix part ${problem}`),
    ...(name === ""
      ? ["name part must be non-empty"]
      : tooLong(name, maxLabel).map((problem) => `name part ${problem}`)),
    ...(qualifiedPattern.test(name) ? [] : [`name part ${mismatch(rule, qualifiedFormat, examples)}`]),
  ];
}

function isQualifiedName(text: string): boolean {
  const slash = text.indexOf("/");
  const name = slash < 0 ? text : text.slice(slash + 1);
  if (name.length > maxLabel || !qualifiedPattern.test(name)) return false;
  return slash < 0 || isSubdomain(text.slice(0, slash));
}

export function labelValueProblems(text: string): string[] {
  const rule = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and ${alphanumericEnds}`;
  if (text === "" || qualifiedPattern.test(text)) return tooLong(text, maxLabel);
  return [...tooLong(text, maxLabel), mismatch(rule, valueFormat, ["MyValue", "my_value", "12345"])];
}

/** Keys of ConfigMaps and Secrets, which become file names. */
export function configKeyProblems(text: string): string[] {
  const rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
  const examples = ["key.name", "KEY_NAME", "key-name"];
  return [
    ...tooLong(text, maxSubdomain),
    ...(configKeyPattern.test(text) ? [] : [mismatch(rule, configKeyFormat, examples)]),
    ...(text.startsWith("..") ? [text === ".." ? "must not be '..'" : "must not start with '..'"] : []),
    ...(text === "." ? ["must not be '.'"] : []),
  ];
}

export function portNameProblems(text: string): string[] {
  return [
    ...(text.length > 15 ? ["must be no more than 15 bytes"] : []),
    ...(/^[-a-z0-9]+$/.test(text) ? [] : ["must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"]),
    ...(/[a-z]/.test(text) ? [] : ["must contain at least one letter (a-z)"]),
    ...(text.includes("--") ? ["must not contain consecutive hyphens"] : []),
    ...(/^-|-$/.test(text) ? ["must not begin or end with a hyphen"] : []),
  ];
}

export function isLabel(text: string): boolean {
  return text.length <= maxLabel && labelPattern.test(text);
}

export function isSubdomain(text: string): boolean {
  return text.length <= maxSubdomain && text.split(".").every((part) => labelPattern.test(part));
}

/** Kubernetes' alphabet: without vowels, so that no words appear, and without characters that look alike. */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
const maxGeneratedName = 63;

export function generateName(base: string): string {
  const suffix = Array.from({ length: suffixLength }, () => alphabet[randomInt(alphabet.length)]);
  return base.slice(0, maxGeneratedName - suffixLength) + suffix.join("");
}
