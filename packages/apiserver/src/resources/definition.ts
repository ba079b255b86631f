import type { CustomResourceDefinition } from "@agent-sandbox/api";
import type { FieldError } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";
import type { Identity } from "../auth/identity.ts";
import type { Converter } from "../conversion/converter.ts";
import type { ApiContext } from "../verbs/context.ts";
import type { Registry } from "./registry.ts";
import type { ServiceAddresses } from "./service/service-addresses.ts";

type CustomVersion = CustomResourceDefinition["spec"]["versions"][number];
export type Schema = NonNullable<NonNullable<CustomVersion["schema"]>["openAPIV3Schema"]>;
export type ScalePaths = NonNullable<NonNullable<CustomVersion["subresources"]>["scale"]>;

/** One column of the table that `kubectl get` prints, after the name. */
export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  /** Above 0: only in the wide table. */
  readonly priority?: number;
  /** Whether it shows the name of the object, which otherwise is in a column before all others. */
  readonly isName?: boolean;
  cell(object: ApiObject, nowMs: number): string | number | boolean | null;
}

/** How one version of a resource looks to clients. */
export interface ServedVersion {
  readonly group: string;
  readonly version: string;
  /** `v1`, or `group/version`. */
  readonly apiVersion: string;
  readonly schema: Schema;
  /** A version may be stored and not served. Default: true. */
  readonly served?: boolean;
  readonly hasStatus: boolean;
  readonly scale?: ScalePaths | undefined;
  readonly deprecationWarning?: string | undefined;
  readonly columns: readonly Column[];
}

export interface AdmissionContext {
  readonly nowMs: number;
  /** The addresses and ports that Services are given. */
  readonly addresses: ServiceAddresses;
  readonly registry: Registry;
  /** The box's only node; Pods are bound to it when they are created. */
  readonly nodeName: string | undefined;
  /** An object that was acknowledged, by how the store names it. */
  readonly find: (resource: string, key: string) => ApiObject | undefined;
  /** All such objects of a resource. */
  readonly list: (resource: string) => Iterable<ApiObject>;
}

/** A part of an object, beside its status, that has a path of its own and is written through that alone. */
export interface ObjectPart {
  /** Where it is in the object. */
  readonly path: readonly [string, string];
  /** Whether it can only be replaced, neither read nor patched there. Default: false. */
  readonly onlyReplaced?: boolean;
  /** The object as it is, but for this part, which is as given. */
  merge(given: ApiObject, current: ApiObject): ApiObject;
  setDefaults(object: ApiObject): ApiObject;
  validate(object: ApiObject, old: ApiObject): readonly FieldError[];
}

/** What is particular to one resource. All hooks are pure and work on the stored version. */
export interface Strategy {
  /** Turns an object of any served version into the asked one. */
  convert?(object: ApiObject, apiVersion: string): ApiObject;
  /** Whether a new object may come with its status, as a Node does that registers itself. */
  readonly keepsStatus?: boolean;
  /** Fills in what users may leave out; the same on every write. */
  setDefaults?(object: ApiObject): ApiObject;
  prepareCreate?(object: ApiObject, context: AdmissionContext): ApiObject;
  prepareUpdate?(object: ApiObject, old: ApiObject, context: AdmissionContext): ApiObject;
  /** Like `prepareUpdate`, for writes to the status alone. */
  prepareStatus?(object: ApiObject, old: ApiObject, context: AdmissionContext): ApiObject;
  /** What a new generation is counted by, where that is not everything but metadata and status. */
  generationPart?(object: ApiObject): unknown;
  /** `apiVersion`: the version of the request, for the few kinds whose versions have rules of their own. */
  validate?(object: ApiObject, old: ApiObject | undefined, apiVersion: string): readonly FieldError[];
  /** By the subresource they are written through. */
  readonly parts?: ReadonlyMap<string, ObjectPart>;
  /** How long a deletion waits for whoever runs the object; 0 when it can go at once. */
  graceSeconds?(object: ApiObject, requested: number | undefined): number;
  /** Why an object may not be deleted at all. */
  deletionProblem?(object: ApiObject): string | undefined;
  /** Whether a deletion that has begun shows by its time alone, with neither a grace nor a new generation. */
  readonly marksTimeAlone?: boolean;
  /** Whether no dependents are looked for: what a deletion says about them is ignored. */
  readonly ownsNothing?: boolean;
  /** Shows on the object itself that its deletion has begun; such objects never go at once. */
  markDeleted?(object: ApiObject): ApiObject;
  /** Whether something other than finalizers and grace keeps an object that is marked for deletion. */
  isHeld?(object: ApiObject): boolean;
  /** The values of the fields that field selectors may ask for, besides name and namespace. */
  readonly selectableFields?: { readonly [field: string]: (object: ApiObject) => string };
}

export interface ReviewCall {
  readonly context: ApiContext;
  /** Who asks. */
  readonly identity: Identity;
  readonly object: ApiObject;
}

/** Answers a question that is asked by creating an object: gives its status. */
export type Review = (call: ReviewCall) => object;

export interface ResourceDefinition {
  /** How the store names it. Never changes once released. */
  readonly id: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** The first one is stored. */
  readonly versions: readonly [ServedVersion, ...ServedVersion[]];
  readonly nameRule: "subdomain" | "label" | "service" | "path-segment";
  /**
   * Whether Kubernetes reads the kind into Go types rather than by a CustomResourceDefinition: quantities and times are
   * stored in one form, and the keys of lists steer merges but are not checked to be unique.
   */
  readonly typed: boolean;
  /** Whether `metadata.generation` counts changes of the specification. */
  readonly hasGeneration: boolean;
  /** Whether a PUT may leave out the resourceVersion. */
  readonly unconditionalUpdate: boolean;
  /** Whether a PUT of what is not there creates it. */
  readonly createsOnUpdate: boolean;
  readonly deletesCollections: boolean;
  readonly returnsDeleted: boolean;
  /** Whether a write to the status may change metadata on the way. */
  readonly statusTakesMetadata: boolean;
  /** Whether finalizers without a domain are only those that everybody knows. */
  readonly finalizerRule: "standard" | "any";
  readonly strategy: Strategy;
  /** The revision of the definition, for kinds whose schema can change. */
  readonly definedAt?: number | undefined;
  /** For versions that the server cannot convert by itself. `Strategy.convert` then works within one request alone. */
  readonly converter?: Converter | undefined;
  /** For what is a question rather than a thing: it can only be created, and is never stored. */
  readonly review?: Review | undefined;
}
