import type { StructuralSchema } from "@agent-sandbox/api/schema";

const token = /\.([^.[\]]+)|\['((?:[^'\\]|\\['\\abfnrtv])*)'\]/y;

/** Whether a path such as `.spec['a.b'].c` names a field of the schema. List items have no path. */
export function isFieldPath(schema: StructuralSchema, path: string): boolean {
  let node: StructuralSchema | undefined = schema;
  token.lastIndex = 0;
  while (token.lastIndex < path.length) {
    const match = token.exec(path);
    if (match === null) return false;
    const name = match[1] ?? (match[2] ?? "").replaceAll(/\\(.)/g, "$1");
    node = child(node, name);
    if (node === undefined) return false;
  }
  return true;
}

function child({ properties, additionalProperties }: StructuralSchema, name: string): StructuralSchema | undefined {
  if (properties !== undefined) return Object.hasOwn(properties, name) ? properties[name] : undefined;
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}
