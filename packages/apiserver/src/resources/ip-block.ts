import { isIPv4, isIPv6 } from "node:net";
import type { FieldError } from "../api-error.ts";
import { type JsonObject, objectsAt, stringAt, valueAt } from "../api-object.ts";
import { invalidValue, required } from "./field-problems.ts";

/** A CIDR block. The bits of the address start with the most significant one. */
interface Block {
  readonly bits: string;
  readonly prefix: number;
  readonly family: 4 | 6;
}

/** kube-apiserver's rules for an `ipBlock`. Values that are already stored need not follow the newer, stricter rules. */
export function ipBlockProblems(ipBlock: JsonObject, path: string, known: ReadonlySet<unknown>): FieldError[] {
  const cidr = stringAt(ipBlock, "cidr") ?? "";
  if (cidr === "") return [required(`${path}.cidr`)];
  const outer = parseBlock(cidr);
  const excepts = Array.isArray(ipBlock["except"]) ? ipBlock["except"].map(String) : [];
  return [
    ...cidrProblems(cidr, `${path}.cidr`, known),
    ...(outer === undefined
      ? []
      : excepts.flatMap((text, at) => exceptProblems(text, `${path}.except[${at}]`, { outer, known }))),
  ];
}

/** All CIDR values in the blocks of a NetworkPolicy's spec. */
export function blocksIn(spec: unknown): Set<unknown> {
  const rules = [...objectsAt(spec, "ingress"), ...objectsAt(spec, "egress")];
  const peers = rules.flatMap((rule) => [...objectsAt(rule, "from"), ...objectsAt(rule, "to")]);
  return new Set(
    peers.flatMap((peer) => {
      const except = valueAt(peer, "ipBlock", "except");
      return [stringAt(peer, "ipBlock", "cidr"), ...(Array.isArray(except) ? except : [])];
    }),
  );
}

function exceptProblems(
  text: string,
  field: string,
  { outer, known }: { outer: Block; known: ReadonlySet<unknown> },
): FieldError[] {
  const inner = parseBlock(text);
  const inside =
    inner === undefined ||
    (inner.family === outer.family &&
      inner.prefix > outer.prefix &&
      inner.bits.slice(0, outer.prefix) === outer.bits.slice(0, outer.prefix));
  return [
    ...cidrProblems(text, field, known),
    ...(inside ? [] : [invalidValue(field, text, "must be a strict subset of `cidr`")]),
  ];
}

function cidrProblems(text: string, field: string, known: ReadonlySet<unknown>): FieldError[] {
  const block = parseBlock(text);
  if (block === undefined) {
    return [invalidValue(field, text, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")];
  }
  if (known.has(text)) return [];
  const [address = "", length = ""] = text.split("/");
  if (/(^|\.)0\d/.test(address) || /^0\d/.test(length)) {
    return [invalidValue(field, text, "must not have leading 0s in IP or prefix length")];
  }
  if (block.family === 6 && /^0{80}1{16}/.test(block.bits)) {
    return [invalidValue(field, text, "must not have an IPv4-mapped IPv6 address")];
  }
  return block.bits.slice(block.prefix).includes("1")
    ? [invalidValue(field, text, "must not have bits set beyond the prefix length")]
    : [];
}

function parseBlock(text: string): Block | undefined {
  const [address = "", length = "", ...more] = text.split("/");
  if (more.length > 0 || !/^\d{1,3}$/.test(length)) return undefined;
  const bits = bitsOf(address);
  const prefix = Number(length);
  if (bits === undefined || prefix > bits.length) return undefined;
  return { bits, prefix, family: bits.length === 32 ? 4 : 6 };
}

function bitsOf(address: string): string | undefined {
  const plain = address.replaceAll(/(^|\.)0+(?=\d)/g, "$1");
  if (!address.includes(":")) return isIPv4(plain) ? binary(plain.split(".").map(Number), 8) : undefined;
  if (!isIPv6(address) || address.includes("%")) return undefined;
  const [, head = "", tail = ""] = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address) ?? [];
  const [a = 0, b = 0, c = 0, d = 0] = tail.split(".").map(Number);
  const words = tail === "" ? address : `${head}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  const [left = [], right] = words.split("::").map((half) => (half === "" ? [] : half.split(":")));
  const gap = right === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => "0");
  return binary(
    [...left, ...gap, ...(right ?? [])].map((word) => Number.parseInt(word, 16)),
    16,
  );
}

const binary = (parts: readonly number[], width: number): string =>
  parts.map((part) => part.toString(2).padStart(width, "0")).join("");
