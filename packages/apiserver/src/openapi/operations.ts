import { verbsOf } from "../discovery/served-verbs.ts";
import { type OpenApiSchema, referenceTo } from "../resources/builtin-definitions.ts";
import type { ServedResource } from "../resources/registry.ts";
import { deleteOptionsName, scaleName, schemaNameOf, statusName } from "./served-schemas.ts";

export interface Parameter {
  readonly name: string;
  readonly in: "query" | "path";
  readonly required?: boolean;
  readonly type: "string" | "boolean" | "integer";
}

/** One method of one path, from which both versions of the documents are written. */
export interface Operation {
  readonly id: string;
  readonly action: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly parameters: readonly Parameter[];
  readonly body?: { readonly types: readonly string[]; readonly schema: OpenApiSchema };
  readonly answer: OpenApiSchema;
}

export type Method = "get" | "put" | "post" | "delete" | "patch";

export interface PathItem {
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly operations: Partial<Record<Method, Operation>>;
}

const query = (name: string, type: Parameter["type"] = "string"): Parameter => ({ name, in: "query", type });
const inPath = (name: string): Parameter => ({ name, in: "path", required: true, type: "string" });

const writing = [query("dryRun"), query("fieldManager"), query("fieldValidation")];
const patching = [...writing, query("force", "boolean")];
const deleting = [query("dryRun"), query("gracePeriodSeconds", "integer"), query("propagationPolicy")];
const listing = [
  query("allowWatchBookmarks", "boolean"),
  query("continue"),
  query("fieldSelector"),
  query("labelSelector"),
  query("limit", "integer"),
  query("resourceVersion"),
  query("resourceVersionMatch"),
  query("sendInitialEvents", "boolean"),
  query("timeoutSeconds", "integer"),
  query("watch", "boolean"),
];

const customPatches = ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];
const typedPatches = [...customPatches, "application/strategic-merge-patch+json"];

/** All paths of one resource. */
export function pathsOf(served: ServedResource): PathItem[] {
  const { definition, version } = served;
  const base = version.group === "" ? "/api/v1" : `/apis/${version.apiVersion}`;
  const place = definition.namespaced ? `${base}/namespaces/{namespace}` : base;
  const collection = `${place}/${definition.plural}`;
  const around = definition.namespaced ? [inPath("namespace")] : [];
  const within = [...around, inPath("name")];
  const make = new Operations(served);
  if (definition.review !== undefined) {
    return [{ path: collection, parameters: around, operations: { post: make.create() } }];
  }
  return [
    { path: collection, parameters: around, operations: make.ofCollection() },
    ...(definition.namespaced
      ? [{ path: `${base}/${definition.plural}`, parameters: [], operations: { get: make.list("ForAllNamespaces") } }]
      : []),
    { path: `${collection}/{name}`, parameters: within, operations: make.ofObject() },
    ...(version.hasStatus
      ? [{ path: `${collection}/{name}/status`, parameters: within, operations: make.ofPart("Status") }]
      : []),
    ...(version.scale === undefined
      ? []
      : [{ path: `${collection}/{name}/scale`, parameters: within, operations: make.ofPart("Scale") }]),
  ];
}

class Operations {
  readonly #served: ServedResource;
  readonly #object: OpenApiSchema;
  readonly #patches: readonly string[];

  constructor(served: ServedResource) {
    this.#served = served;
    this.#object = referenceTo(schemaNameOf(served));
    this.#patches = served.definition.typed ? typedPatches : customPatches;
  }

  ofCollection(): PathItem["operations"] {
    if (this.#isMeasured) return { get: this.list() };
    const removes = verbsOf(this.#served).includes("deletecollection");
    return {
      get: this.list(),
      post: this.create(),
      ...(removes ? { delete: this.#delete("deletecollection", [...deleting, ...listing]) } : {}),
    };
  }

  create(): Operation {
    return this.#one({ verb: "create", action: "post", parameters: writing, body: { types: ["*/*"] } });
  }

  list(where = ""): Operation {
    const answer = referenceTo(`${schemaNameOf(this.#served)}List`);
    return this.#one({ verb: "list", action: "list", parameters: listing, answer, where });
  }

  ofObject(): PathItem["operations"] {
    const get = this.#one({ verb: "read", action: "get", parameters: [] });
    if (this.#isMeasured) return { get };
    return {
      get,
      put: this.#one({ verb: "replace", action: "put", parameters: writing, body: { types: ["*/*"] } }),
      delete: this.#delete("delete", deleting),
      patch: this.#one({ verb: "patch", action: "patch", parameters: patching, body: { types: this.#patches } }),
    };
  }

  get #isMeasured(): boolean {
    return this.#served.definition.measured !== undefined;
  }

  ofPart(where: "Status" | "Scale"): PathItem["operations"] {
    const scale = where === "Scale";
    const object = scale ? referenceTo(scaleName) : this.#object;
    const part = {
      answer: object,
      where,
      ...(scale ? { kind: { group: "autoscaling", version: "v1", kind: "Scale" } } : {}),
    };
    const types = scale ? customPatches : this.#patches;
    return {
      get: this.#one({ verb: "read", action: "get", parameters: [], ...part }),
      put: this.#one({ verb: "replace", action: "put", parameters: writing, body: { types: ["*/*"] }, ...part }),
      patch: this.#one({ verb: "patch", action: "patch", parameters: patching, body: { types }, ...part }),
    };
  }

  #delete(action: "delete" | "deletecollection", parameters: readonly Parameter[]): Operation {
    const verb = action === "delete" ? "delete" : "deleteCollection";
    const answer = referenceTo(statusName);
    const body = { types: ["*/*"], schema: referenceTo(deleteOptionsName) };
    return this.#one({ verb, action, parameters, answer, body });
  }

  #one(made: {
    verb: string;
    action: string;
    parameters: readonly Parameter[];
    body?: { types: readonly string[]; schema?: OpenApiSchema };
    answer?: OpenApiSchema;
    where?: string;
    kind?: Operation["kind"];
  }): Operation {
    const { definition, version } = this.#served;
    const { group, version: name } = version;
    const { verb, action, parameters, body, answer = this.#object, where = "" } = made;
    const scope = definition.namespaced && where !== "ForAllNamespaces" ? "Namespaced" : "";
    return {
      id: `${verb}${camel(group === "" ? "core" : group)}${camel(name)}${scope}${definition.kind}${where}`,
      action,
      kind: made.kind ?? { group, version: name, kind: definition.kind },
      parameters,
      ...(body === undefined ? {} : { body: { types: body.types, schema: body.schema ?? answer } }),
      answer,
    };
  }
}

/** `rbac.authorization.k8s.io` is `RbacAuthorization`. */
function camel(text: string): string {
  const words = text.replace(/\.k8s\.io$/, "").split(/[^A-Za-z0-9]+/);
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}
