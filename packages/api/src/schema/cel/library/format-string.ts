import { spend, weightOf } from "../budget.ts";
import { textOf } from "./conversions.ts";
import { Duration, Type, UnsignedInt } from "./values.ts";

/** `'%s is %d'.format(['a', 1])` with the clauses and type checks of CEL. */
export function formatString(format: string, values: readonly unknown[]): string {
  spend(weightOf(format) + 2 * weightOf(values));
  let next = 0;
  const result = format.replace(clauses, (clause, precision?: string, verb?: string) => {
    if (clause === "%%") return "%";
    if (verb === undefined) throw new Error("could not parse formatting clause: unexpected end of string");
    if (next >= values.length) throw new Error(`index ${next} out of range`);
    return formatted(verb, values[next++], precision);
  });
  spend(weightOf(result));
  return result;
}

const clauses = /%(?:%|(?:\.(\d+))?([a-zA-Z])|)/g;
const numbers = ["int", "uint"];
/** The types that each clause accepts. */
const taken: { readonly [verb: string]: readonly string[] | undefined } = {
  d: numbers,
  o: numbers,
  b: [...numbers, "bool"],
  x: [...numbers, "string", "bytes"],
  X: [...numbers, "string", "bytes"],
  f: ["double", "string"],
  e: ["double", "string"],
};

/** Checks a constant format against the static types of its values. */
export function literalFormatError(format: string, types: readonly string[]): string | undefined {
  let next = 0;
  for (const [clause, , verb] of format.matchAll(clauses)) {
    if (clause === "%%") continue;
    if (verb === undefined) return "could not parse formatting clause: unexpected end of string";
    if (!"sdfebxXo".includes(verb))
      return `could not parse formatting clause: unrecognized formatting clause "${verb}"`;
    const type = types[next++];
    if (type === undefined) return `index ${next - 1} out of range`;
    const isKnown = type !== "dyn" && taken[verb] !== undefined;
    if (isKnown && !taken[verb]?.includes(type)) return `error during formatting: %${verb} cannot be used on ${type}`;
  }
  if (next === types.length) return undefined;
  return `too many arguments supplied to string.format (expected ${next}, got ${types.length})`;
}

// More digits than a double has. Bounded, because a format may ask for any number.
const mostDigits = 100;

function formatted(verb: string, value: unknown, precision: string | undefined): string {
  const digits = precision === undefined ? 6 : Number(precision);
  if (digits > mostDigits) throw new Error(`precision ${digits} is out of range`);
  switch (verb) {
    case "s":
      return shown(value);
    case "d":
      return decimal(value);
    case "f":
      return grouped(doubleOf(value, "f"), digits);
    case "e":
      return scientific(doubleOf(value, "e"), digits);
    case "b":
      return typeof value === "boolean" ? (value ? "1" : "0") : integerOf(value, "b").toString(2);
    case "o":
      return integerOf(value, "o").toString(8);
    case "x":
      return hexadecimal(value);
    case "X":
      return hexadecimal(value).toUpperCase();
    default:
      throw new Error(`could not parse formatting clause: unrecognized formatting clause "${verb}"`);
  }
}

function decimal(value: unknown): string {
  if (typeof value === "bigint" || value instanceof UnsignedInt) return String(value);
  throw new Error("error during formatting: decimal clause can only be used on integers");
}

function integerOf(value: unknown, verb: string): bigint {
  if (typeof value === "bigint") return value;
  if (value instanceof UnsignedInt) return value.valueOf();
  throw new Error(`error during formatting: %${verb} can only be used on integers`);
}

function doubleOf(value: unknown, verb: string): number {
  if (typeof value === "number") return value;
  if (value === "NaN" || value === "Infinity" || value === "-Infinity") return Number(value);
  throw new Error(`error during formatting: %${verb} can only be used on doubles`);
}

function hexadecimal(value: unknown): string {
  if (typeof value === "string") return Buffer.from(value).toString("hex");
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  return integerOf(value, "x").toString(16);
}

const infinite = (value: number): string => (Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "-∞");

/** Groups digits with commas, as Kubernetes' version of CEL does for fixed-point numbers. */
function grouped(value: number, digits: number): string {
  if (!Number.isFinite(value)) return infinite(value);
  const [whole = "", fraction] = rounded(Math.abs(value), digits).split(".");
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const commas = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return sign + commas + (fraction === undefined ? "" : `.${fraction}`);
}

/** Rounds half to even as Go does. JavaScript rounds half up. */
function rounded(value: number, digits: number): string {
  const exact = value.toFixed(mostDigits);
  const cut = exact.length - mostDigits + digits;
  const kept = digits === 0 ? exact.slice(0, cut - 1) : exact.slice(0, cut);
  return /^50*$/.test(exact.slice(cut)) && /[02468]$/.test(kept) ? kept : value.toFixed(digits);
}

const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** Always six digits: Kubernetes' version of CEL uses the precision as a width. */
function scientific(value: number, width: number): string {
  if (!Number.isFinite(value)) return infinite(value);
  const [mantissa = "", exponent = "+0"] = value.toExponential(6).split("e");
  const raised = Array.from(exponent.slice(1).padStart(2, "0"), (digit) => superscripts[Number(digit)]).join("");
  return `${mantissa}×10${exponent.startsWith("-") ? "⁻" : ""}${raised}`.padStart(width);
}

function shown(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (value instanceof Map) return shownMap([...value]);
  if (typeof value === "object" && isPlainObject(value)) return shownMap(Object.entries(value));
  const text = textOf(value);
  if (text === undefined) throw new Error("error during formatting: string clause can only be used on simple values");
  return text;
}

const isPlainObject = (value: object): boolean =>
  Object.getPrototypeOf(value) === null || Object.getPrototypeOf(value) === Object.prototype;

function shownMap(entries: readonly (readonly [unknown, unknown])[]): string {
  const pairs = entries.map(([key, value]) => [literal(key), literal(value)] as const);
  pairs.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${pairs.map(([key, value]) => `${key}:${value}`).join(", ")}}`;
}

const marks = new Map(
  Object.entries({
    "\u0007": "a",
    "\b": "b",
    "\f": "f",
    "\n": "n",
    "\r": "r",
    "\t": "t",
    "\v": "v",
    "\\": "\\",
    '"': '"',
  }),
);

/** Quotes a string as Go does. */
function quoted(text: string): string {
  // oxlint-disable-next-line no-control-regex
  const inside = text.replaceAll(/[\u0000-\u001f"\\\u007f]/g, (character) => {
    const mark = marks.get(character);
    return mark === undefined ? `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}` : `\\${mark}`;
  });
  return `"${inside}"`;
}

/** A value as a CEL literal. */
function literal(value: unknown): string {
  if (typeof value === "string") return quoted(value);
  if (value instanceof Uint8Array) return `b${quoted(shown(value))}`;
  if (typeof value === "number" && Number.isFinite(value)) return value.toFixed(6);
  if (value instanceof Date) return `timestamp(${JSON.stringify(shown(value))})`;
  if (value instanceof Duration) return `duration(${JSON.stringify(shown(value))})`;
  return value instanceof Type ? value.name : shown(value);
}
