import type { Random } from "./random.ts";

const atoms = [
  "self",
  "self.s",
  "self.n",
  "self.l",
  "self.m",
  "oldSelf",
  "1",
  "-1",
  "'a'",
  "'a.*b'",
  "[1, 2]",
  "['a']",
  "{'a': 1}",
  "true",
  "null",
  "1.5",
  "self.missing",
];
const calls = [
  "size()",
  "all(x, %)",
  "exists(x, %)",
  "map(x, %)",
  "filter(x, %)",
  "exists_one(x, %)",
  "all(i, x, %)",
  "transformList(i, x, %)",
  "matches(%)",
  "find(%)",
  "findAll(%)",
  "split(%)",
  "join(%)",
  "replace(%, %)",
  "substring(%)",
  "charAt(%)",
  "indexOf(%)",
  "lowerAscii()",
  "trim()",
  "format(%)",
  "sum()",
  "min()",
  "max()",
  "sort()",
  "isSorted()",
  "flatten()",
  "distinct()",
  "reverse()",
  "slice(%, %)",
  "sortBy(x, %)",
  "contains(%)",
  "startsWith(%)",
  "optMap(x, %)",
  "orValue(%)",
  "hasValue()",
  "value()",
  "getHost()",
  "containsIP(%)",
  "isLessThan(%)",
  "asInteger()",
  "validate(%)",
  "unknown(%)",
];
const functions = [
  "size(%)",
  "int(%)",
  "string(%)",
  "double(%)",
  "duration(%)",
  "timestamp(%)",
  "type(%)",
  "dyn(%)",
  "has(self.s)",
  "quantity(%)",
  "isQuantity(%)",
  "url(%)",
  "isURL(%)",
  "ip(%)",
  "isIP(%)",
  "cidr(%)",
  "semver(%)",
  "isSemver(%)",
  "sets.contains(%, %)",
  "lists.range(%)",
  "optional.of(%)",
  "optional.none()",
  "format.dns1123Label()",
  "strings.quote(%)",
  "cel.bind(x, %, %)",
];
const operators = ["+", "-", "*", "/", "%", "==", "!=", "<", ">=", "in", "&&", "||"];

/** A random CEL expression, valid or invalid. */
export function randomRule(random: Random, depth: number): string {
  const inner = (): string => randomRule(random, depth - 1);
  const filled = (template: string): string => template.replaceAll("%", inner);
  if (depth <= 0) return random.pick([...atoms, "x", "i"]);
  switch (random.below(6)) {
    case 0:
      return `${inner()}.${filled(random.pick(calls))}`;
    case 1:
      return filled(random.pick(functions));
    case 2:
      return `(${inner()} ? ${inner()} : ${inner()})`;
    case 3:
      return `${inner()}[${random.chance(0.2) ? "?" : ""}${inner()}]`;
    case 4:
      return `!${inner()}`;
    default:
      return `(${inner()} ${random.pick(operators)} ${inner()})`;
  }
}

/** Valid rules that take long on large lists. */
export const slowRules: readonly string[] = [
  "self.l.all(x, self.l.all(y, self.l.all(z, x + y + z >= 0)))",
  "self.l.map(x, self.l.map(y, self.l)).size() >= 0",
  "self.l.all(x, self.l.sort() == self.l)",
  "self.s.matches('^(a|aa|aaa)*$') && self.s.replace('', self.s).size() > 0",
  "lists.range(100000).all(x, lists.range(100000).exists(y, y == x))",
  "self.l.map(x, '%s'.format([self.l])).join(self.s).size() >= 0",
  "self.s.split('').all(x, self.s.split('').all(y, x == y))",
  "self.l.distinct().size() == sets.contains(self.l, self.l) ? 1 : 2",
];

export function randomSchema(random: Random, depth: number): unknown {
  const type = random.pick(["string", "integer", "number", "boolean", "object", "array", "nonsense"]);
  const rules = random.chance(0.5)
    ? {
        "x-kubernetes-validations": random.times(1 + random.below(2), () => ({
          rule: randomRule(random, 4),
          ...ruleExtras(random),
        })),
      }
    : {};
  const base = { type, ...rules, ...extras(random) };
  if (depth <= 0 || (type !== "object" && type !== "array")) return base;
  if (type === "array") return { ...base, items: randomSchema(random, depth - 1) };
  if (random.chance(0.3)) return { ...base, additionalProperties: randomSchema(random, depth - 1) };
  const properties = random.times(
    random.below(4),
    () => [random.pick(["s", "n", "l", "m", "a-b", "namespace"]), randomSchema(random, depth - 1)] as const,
  );
  return { ...base, properties: Object.fromEntries(properties) };
}

function ruleExtras(random: Random): object {
  return random.pick([
    {},
    { message: "m" },
    { messageExpression: randomRule(random, 2) },
    { fieldPath: ".s" },
    { optionalOldSelf: true },
  ]);
}

function extras(random: Random): object {
  return random.pick([
    {},
    {},
    { nullable: true },
    { pattern: random.pick(["^a+$", "(a|b)*c", "(((", "a{1,1000}{1,1000}", "\\p{Greek}+"]) },
    { format: random.pick(["date-time", "duration", "byte", "int32", "uri", "nonsense"]) },
    { default: random.pick<unknown>([1, "a", {}, [], null]) },
    { enum: ["a", 1, null] },
    { "x-kubernetes-list-type": random.pick(["map", "set", "atomic"]), "x-kubernetes-list-map-keys": ["s"] },
    { "x-kubernetes-int-or-string": true },
    { "x-kubernetes-preserve-unknown-fields": true },
    { anyOf: [{ minimum: 1 }, { maxLength: 2 }] },
    { required: ["s", "missing"] },
    { maxItems: -1, minLength: 1e9 },
  ]);
}
