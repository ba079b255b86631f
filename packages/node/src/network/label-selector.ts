export type Labels = Readonly<Record<string, string>>;

export interface LabelSelector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** Whether a selector matches labels. An empty selector matches everything, `undefined` matches nothing. */
export function selects(selector: LabelSelector | undefined, labels: Labels): boolean {
  if (selector === undefined) return false;
  const value = (key: string): string | undefined => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  const wanted = Object.entries(selector.matchLabels ?? {});
  if (!wanted.every(([key, text]) => value(key) === text)) return false;
  return (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
    const found = value(key);
    switch (operator) {
      case "In":
        return found !== undefined && values.includes(found);
      case "NotIn":
        return found === undefined || !values.includes(found);
      case "Exists":
        return found !== undefined;
      case "DoesNotExist":
        return found === undefined;
      default:
        return false;
    }
  });
}

const operators = ["In", "NotIn", "Exists", "DoesNotExist"];

/** Whether all operators of a selector are known. */
export function isUnderstood({ matchExpressions = [] }: LabelSelector): boolean {
  return matchExpressions.every(({ operator }) => operators.includes(operator));
}
