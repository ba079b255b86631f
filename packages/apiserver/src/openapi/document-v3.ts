import { kubernetesVersion } from "../resources/builtin-definitions.ts";
import type { ServedResource } from "../resources/registry.ts";
import { type Operation, type Parameter, type PathItem, pathsOf } from "./operations.ts";
import { schemasOf } from "./served-schemas.ts";

export const info: { readonly title: string; readonly version: string } = {
  title: "Kubernetes",
  version: kubernetesVersion,
};

/** The OpenAPI 3.0 document of one group and version. */
export function documentV3(resources: readonly ServedResource[]): object {
  const items = resources.flatMap(pathsOf);
  return {
    openapi: "3.0.0",
    info,
    paths: Object.fromEntries(items.map((item) => [item.path, pathItem(item)])),
    components: { schemas: schemasOf(resources) },
  };
}

function pathItem({ parameters, operations }: PathItem): object {
  const methods = Object.entries(operations).map(([method, one]) => [method, operation(one)] as const);
  return {
    ...Object.fromEntries(methods),
    ...(parameters.length === 0 ? {} : { parameters: parameters.map(parameter) }),
  };
}

function parameter({ name, in: place, required, type }: Parameter): object {
  return { name, in: place, ...(required === true ? { required } : {}), schema: { type, uniqueItems: true } };
}

function operation({ id, action, kind, parameters, body, answer }: Operation): object {
  const content = { "application/json": { schema: answer } };
  return {
    operationId: id,
    ...(parameters.length === 0 ? {} : { parameters: parameters.map(parameter) }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            content: Object.fromEntries(body.types.map((type) => [type, { schema: body.schema }])),
          },
        }),
    responses: { "200": { description: "OK", content }, "401": { description: "Unauthorized" } },
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": kind,
  };
}
