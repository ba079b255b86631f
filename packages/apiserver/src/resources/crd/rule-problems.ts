import { checkRules, type RuleCheck, type StructuralSchema, type ValidationRule } from "@agent-sandbox/api/schema";
import type { FieldError } from "../../api-error.ts";
import { invalidValue, notSupported, required } from "../field-problems.ts";
import { isFieldPath } from "./rule-field-path.ts";

/** The problems of the CEL rules of a structural schema, in the words of kube-apiserver. */
export function ruleProblems(schema: StructuralSchema, path: string): FieldError[] {
  const shape = schemaRules(schema, path).flatMap(shapeProblems);
  // Rules are compiled only if all of them have the required fields.
  return shape.length > 0 ? shape : schemaRules(schema, path).flatMap(compileProblems);
}

/** The rules at one path of a schema. */
interface PlacedRules {
  readonly schema: StructuralSchema;
  readonly path: string;
  readonly isRoot: boolean;
  /** The path of the first list on the way whose items have no identity, so that `oldSelf` is unknown below it. */
  readonly uncorrelated: string | undefined;
}

function schemaRules(
  schema: StructuralSchema,
  path: string,
  { isRoot, uncorrelated }: Pick<PlacedRules, "isRoot" | "uncorrelated"> = { isRoot: true, uncorrelated: undefined },
): PlacedRules[] {
  const { properties = {}, items, additionalProperties } = schema;
  const own = (schema["x-kubernetes-validations"]?.length ?? 0) > 0 ? [{ schema, path, isRoot, uncorrelated }] : [];
  const under = (part: StructuralSchema, name: string, isLost = false): PlacedRules[] =>
    schemaRules(part, `${path}.${name}`, {
      isRoot: false,
      uncorrelated: uncorrelated ?? (isLost ? path : undefined),
    });
  return [
    ...own,
    ...(typeof additionalProperties === "object" ? under(additionalProperties, "additionalProperties") : []),
    ...Object.entries(properties).flatMap(([name, part]) => under(part, `properties[${name}]`)),
    ...(items === undefined ? [] : under(items, "items", schema["x-kubernetes-list-type"] !== "map")),
  ];
}

const reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
const hasLines = (text: string): boolean => /[\r\n]/.test(text);

function shapeProblems({ schema, path }: PlacedRules): FieldError[] {
  return rulesIn(schema).flatMap((rule, at) => {
    const own = `${path}.x-kubernetes-validations[${at}]`;
    return [
      ...textProblems(rule, own),
      ...(rule.messageExpression !== undefined && rule.messageExpression !== "" && rule.messageExpression.trim() === ""
        ? [required(`${own}.messageExpression`, "messageExpression must be non-empty if specified")]
        : []),
      ...(rule.reason !== undefined && !reasons.includes(rule.reason)
        ? [notSupported(`${own}.reason`, rule.reason, reasons)]
        : []),
      ...fieldPathProblems(schema, rule.fieldPath ?? "", `${own}.fieldPath`),
    ];
  });
}

function textProblems({ rule, message = "" }: ValidationRule, path: string): FieldError[] {
  const trimmed = message.trim();
  if (rule.trim() === "") return [required(`${path}.rule`, "rule is not specified")];
  if (message !== "" && trimmed === "") {
    return [invalidValue(`${path}.message`, message, "must be non-empty if specified")];
  }
  if (hasLines(trimmed)) return [invalidValue(`${path}.message`, message, "must not contain line breaks")];
  if (hasLines(rule.trim()) && trimmed === "") {
    return [required(`${path}.message`, "message must be specified if rule contains line breaks")];
  }
  return [];
}

function fieldPathProblems(schema: StructuralSchema, fieldPath: string, field: string): FieldError[] {
  if (fieldPath === "") return [];
  return [
    ...(fieldPath.trim() === "" ? [invalidValue(field, fieldPath, "must be non-empty if specified")] : []),
    ...(hasLines(fieldPath) ? [invalidValue(field, fieldPath, "must not contain line breaks")] : []),
    ...(isFieldPath(schema, fieldPath) ? [] : [invalidValue(field, fieldPath, "must be a valid path")]),
  ];
}

const rulesIn = (schema: StructuralSchema): readonly ValidationRule[] => schema["x-kubernetes-validations"] ?? [];

function compileProblems({ schema, path, isRoot, uncorrelated }: PlacedRules): FieldError[] {
  return checkRules(schema, isRoot).flatMap((check, at) => {
    const rule = rulesIn(schema)[at] as ValidationRule;
    const own = `${path}.x-kubernetes-validations[${at}]`;
    return [...expressionProblems(rule, check, own), ...transitionProblems(rule, check, { own, uncorrelated })];
  });
}

function expressionProblems(rule: ValidationRule, { ruleError, messageError }: RuleCheck, own: string): FieldError[] {
  const about = (part: string, error: string, what: string): FieldError => ({
    field: `${own}.${part}`,
    reason: "FieldValueInvalid",
    message: `Invalid value: ${shownRule(rule)}: ${error.includes("must evaluate to") ? "" : what}${error}`,
  });
  return [
    ...(ruleError === undefined ? [] : [about("rule", ruleError, "compilation failed: ")]),
    ...(messageError === undefined
      ? []
      : [about("messageExpression", messageError, "messageExpression compilation failed: ")]),
  ];
}

/** A rule as Go prints the struct. */
function shownRule(rule: ValidationRule): string {
  const { message = "", messageExpression = "", reason = null, fieldPath = "", optionalOldSelf = null } = rule;
  const text = JSON.stringify({
    Rule: rule.rule,
    Message: message,
    MessageExpression: messageExpression,
    Reason: reason,
    FieldPath: fieldPath,
    OptionalOldSelf: optionalOldSelf,
  });
  return text.replaceAll(/[<>&]/g, (mark) => `\\u00${mark.charCodeAt(0).toString(16)}`);
}

function transitionProblems(
  { rule, optionalOldSelf }: ValidationRule,
  { usesOldSelf }: RuleCheck,
  { own, uncorrelated }: { readonly own: string; readonly uncorrelated: string | undefined },
): FieldError[] {
  if (usesOldSelf && uncorrelated !== undefined) {
    const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`;
    return [invalidValue(`${own}.rule`, rule, why)];
  }
  if (usesOldSelf || optionalOldSelf === undefined) return [];
  return [invalidValue(`${own}.optionalOldSelf`, optionalOldSelf, "may not be set if oldSelf is not used in rule")];
}
