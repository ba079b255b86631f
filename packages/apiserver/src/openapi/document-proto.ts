import type { DocumentV2, OperationV2, ParameterV2, PathItemV2, SchemaV2 } from "./document-v2.ts";
import { ProtoWriter } from "./proto-writer.ts";

/**
 * Encodes the OpenAPI 2.0 document as `openapi.v2.Document` of gnostic, the only form that kubectl and Helm accept. The field
 * numbers are those of its published message types.
 */
export function protoOfV2({ swagger, info, paths, definitions }: DocumentV2): Uint8Array {
  const items = Object.entries(paths).map(([path, item]) => named(path, pathItem(item)));
  const schemas = Object.entries(definitions).map(([name, one]) => named(name, schema(one)));
  return new ProtoWriter()
    .text(1, swagger)
    .message(2, new ProtoWriter().text(1, info.title).text(2, info.version))
    .message(8, new ProtoWriter().messages(2, items))
    .message(9, new ProtoWriter().messages(1, schemas))
    .finish();
}

function named(name: string, value: ProtoWriter): ProtoWriter {
  return new ProtoWriter().text(1, name).message(2, value);
}

/** Values of any type are encoded as YAML, of which JSON is a subset. */
function any(value: unknown): ProtoWriter {
  return new ProtoWriter().text(2, JSON.stringify(value));
}

function extensions(owner: object): ProtoWriter[] {
  return Object.entries(owner).flatMap(([key, value]) => (key.startsWith("x-") ? [named(key, any(value))] : []));
}

const methodFields: { readonly [method: string]: number } = { get: 2, put: 3, post: 4, delete: 5, patch: 8 };

function pathItem({ operations, parameters }: PathItemV2): ProtoWriter {
  const item = new ProtoWriter();
  for (const [method, field] of Object.entries(methodFields)) {
    const one = operations[method];
    if (one !== undefined) item.message(field, operation(one));
  }
  return item.messages(9, parameters.map(parameter));
}

function operation(one: OperationV2): ProtoWriter {
  const answers = Object.entries(one.responses).map(([code, { description, schema: shape }]) => {
    const body = shape === undefined ? undefined : new ProtoWriter().message(1, schema(shape));
    const response = new ProtoWriter().text(1, description).message(2, body);
    return named(code, new ProtoWriter().message(1, response));
  });
  return new ProtoWriter()
    .text(5, one.operationId)
    .texts(6, one.produces)
    .texts(7, one.consumes)
    .messages(8, one.parameters.map(parameter))
    .message(9, new ProtoWriter().messages(1, answers))
    .messages(13, extensions(one));
}

function parameter({ name, in: place, required, type, schema: shape }: ParameterV2): ProtoWriter {
  const item = new ProtoWriter();
  if (shape !== undefined) {
    const body = new ProtoWriter().text(2, name).text(3, place).flag(4, required).message(5, schema(shape));
    return item.message(1, new ProtoWriter().message(1, body));
  }
  const plain = new ProtoWriter().flag(1, required).text(2, place).text(4, name);
  const other = place === "path" ? plain.text(5, type) : plain.text(6, type);
  return item.message(1, new ProtoWriter().message(2, new ProtoWriter().message(place === "path" ? 4 : 3, other)));
}

function schema(one: SchemaV2): ProtoWriter {
  const { properties, items, additionalProperties: more, type } = one;
  const fields = Object.entries(properties ?? {}).map(([name, property]) => named(name, schema(property)));
  return new ProtoWriter()
    .text(1, one.$ref)
    .text(2, one.format)
    .text(4, one.description)
    .message(5, one.default === undefined ? undefined : any(one.default))
    .double(7, one.maximum)
    .double(9, one.minimum)
    .text(13, one.pattern)
    .texts(19, one.required)
    .messages(20, (one.enum ?? []).map(any))
    .message(21, typeof more === "object" ? new ProtoWriter().message(1, schema(more)) : undefined)
    .message(22, type === undefined ? undefined : new ProtoWriter().texts(1, [type]))
    .message(23, items === undefined ? undefined : new ProtoWriter().messages(1, [schema(items)]))
    .message(25, properties === undefined ? undefined : new ProtoWriter().messages(1, fields))
    .messages(31, extensions(one));
}
