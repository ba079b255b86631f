import { randomInt } from "node:crypto";
import type { ResourceDefinition } from "./definition.ts";

const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const serviceLabel = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;

/** Says what is wrong with an object's name, or nothing. */
export function nameProblem(name: string, rule: ResourceDefinition["nameRule"]): string | undefined {
  switch (rule) {
    case "subdomain":
      return isSubdomain(name)
        ? undefined
        : "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', must start and end with an alphanumeric character, and be at most 253 characters";
    case "label":
      return isLabel(name)
        ? undefined
        : "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', must start and end with an alphanumeric character, and be at most 63 characters";
    case "service":
      return name.length <= 63 && serviceLabel.test(name)
        ? undefined
        : "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, end with an alphanumeric character, and be at most 63 characters";
    default:
      return rule satisfies never;
  }
}

export function isLabel(text: string): boolean {
  return text.length <= 63 && label.test(text);
}

export function isSubdomain(text: string): boolean {
  return text.length <= 253 && text.split(".").every((part) => label.test(part));
}

/** No vowels, and nothing that is read as another letter: no words arise by chance. */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
const maxGeneratedName = 63;

export function generateName(base: string): string {
  const suffix = Array.from({ length: suffixLength }, () => alphabet[randomInt(alphabet.length)]);
  return base.slice(0, maxGeneratedName - suffixLength) + suffix.join("");
}
