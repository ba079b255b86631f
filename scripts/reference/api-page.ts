import type { StructuralSchema } from "@agent-sandbox/api";
import { crds } from "@agent-sandbox/api/crds";
import { markdownTable } from "./markdown-table.ts";

/** Fields whose type is defined by Kubernetes; the page links to it instead of listing hundreds of fields. */
const ofKubernetes: readonly (readonly [ending: string, type: string])[] = [
  ["podTemplate.spec", "PodSpec"],
  ["volumeClaimTemplates[].spec", "PersistentVolumeClaimSpec"],
  ["networkPolicy.ingress", "[]NetworkPolicyIngressRule"],
  ["networkPolicy.egress", "[]NetworkPolicyEgressRule"],
  ["status.conditions", "[]Condition"],
];

/** The fields of our kinds in their newest version, from the schemas that the CRDs contain. */
export function apiPage(): string {
  return crds
    .filter(({ spec }) => spec.group.endsWith("agents.x-k8s.io"))
    .map(({ spec }) => {
      const newest = spec.versions[0];
      const schema = newest?.schema?.openAPIV3Schema;
      if (schema === undefined) throw new Error(`Cannot describe "${spec.names.kind}": it has no schema`);
      const older = spec.versions.slice(1).map(({ name }) => `\`${name}\``);
      return [
        `## ${spec.names.kind}`,
        `\`${spec.group}/${newest?.name}\`${older.length > 0 ? `; ${older.join(", ")} is served too and deprecated` : ""}. ${schema.description ?? ""}`,
        markdownTable(
          ["field", "type", "meaning"],
          rows(schema, "").map(({ path, type, about }) => [`\`${path}\``, type, about]),
        ),
      ].join("\n\n");
    })
    .join("\n\n");
}

interface Row {
  readonly path: string;
  readonly type: string;
  readonly about: string;
}

const outside = ["apiVersion", "kind", "metadata"];

function rows(schema: StructuralSchema, path: string): Row[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    if (path === "" && outside.includes(name)) return [];
    const own = path === "" ? name : `${path}.${name}`;
    const isRequired = schema.required?.includes(name) ?? false;
    const known = ofKubernetes.find(([ending]) => own.endsWith(ending))?.[1];
    const row = {
      path: own,
      type: `${known ?? typeOf(field)}${isRequired ? ", required" : ""}`,
      about: aboutOf(field),
    };
    if (known !== undefined) return [row];
    return [row, ...rows(field.items ?? field, field.items === undefined ? own : `${own}[]`)];
  });
}

function typeOf(field: StructuralSchema): string {
  if (field.type === "array") return `[]${typeOf(field.items ?? {})}`;
  const values = field.additionalProperties;
  if (typeof values === "object") return `map of ${typeOf(values)}`;
  return field.format === "date-time" ? "time" : (field.type ?? "integer or string");
}

function aboutOf({ description = "", enum: values, default: fallback, minimum, maximum }: StructuralSchema): string {
  const code = (value: unknown): string => `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
  return [
    description,
    values === undefined ? "" : `One of ${values.map(code).join(", ")}.`,
    minimum === undefined ? "" : `At least ${minimum}.`,
    maximum === undefined ? "" : `At most ${maximum}.`,
    fallback === undefined ? "" : `Default ${code(fallback)}.`,
  ]
    .filter((part) => part !== "")
    .join(" ");
}
