import type { CustomResourceDefinition } from "@agent-sandbox/api";
import type { UsageFigures } from "@agent-sandbox/kube";
import type { FieldError } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";
import type { Identity } from "../auth/identity.ts";
import type { Converter } from "../conversion/converter.ts";
import type { Allocations } from "../placement/allocations.ts";
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
  /** Columns with a priority above 0 appear only with `-o wide`. */
  readonly priority?: number;
  /** Whether this column shows the name, instead of the separate first column. */
  readonly isName?: boolean;
  cell(object: ApiObject, nowMs: number): string | number | boolean | null;
}

/** One version of a resource. */
export interface ServedVersion {
  readonly group: string;
  readonly version: string;
  /** `v1`, or `group/version`. */
  readonly apiVersion: string;
  readonly schema: Schema;
  /** False for a version that is only stored. Default: true. */
  readonly served?: boolean;
  readonly hasStatus: boolean;
  readonly scale?: ScalePaths | undefined;
  readonly deprecationWarning?: string | undefined;
  readonly columns: readonly Column[];
}

export interface AdmissionContext {
  readonly nowMs: number;
  /** Allocates addresses and ports for Services. */
  readonly addresses: ServiceAddresses;
  readonly registry: Registry;
  /** The box's only node, to which Pods are bound when they are created. */
  readonly nodeName: string | undefined;
  /** The requests of the Pods on that node. */
  readonly allocations: Allocations | undefined;
  /** A saved object by its key in the store. */
  readonly find: (resource: string, key: string) => ApiObject | undefined;
  /** All saved objects of a resource. */
  readonly list: (resource: string) => Iterable<ApiObject>;
}

/** A part of an object, other than its status, that is written only through its own subresource. */
export interface ObjectPart {
  /** Its path in the object. */
  readonly path: readonly [string, string];
  /** Whether the subresource supports only PUT, not GET or PATCH. Default: false. */
  readonly onlyReplaced?: boolean;
  /** The current object with this part of the given one. */
  merge(given: ApiObject, current: ApiObject): ApiObject;
  setDefaults(object: ApiObject): ApiObject;
  validate(object: ApiObject, old: ApiObject): readonly FieldError[];
}

/** The behaviour of one resource. All hooks are pure functions of objects in the stored version. */
export interface Strategy {
  /** Converts an object of any served version to another one. */
  convert?(object: ApiObject, apiVersion: string): ApiObject;
  /** Whether a new object keeps its status, like a Node that registers itself. */
  readonly keepsStatus?: boolean;
  /** Sets the defaults that the schema does not have, on every write. */
  setDefaults?(object: ApiObject): ApiObject;
  prepareCreate?(object: ApiObject, context: AdmissionContext): ApiObject;
  prepareUpdate?(object: ApiObject, old: ApiObject, context: AdmissionContext): ApiObject;
  /** Why the spec of an object of this name stays as it is, whatever clients write. They get this as a warning. */
  fixedSpec?(name: string): string | undefined;
  /** Like `prepareUpdate`, for writes to the status. */
  prepareStatus?(object: ApiObject, old: ApiObject, context: AdmissionContext): ApiObject;
  /** The part of an object whose change increases its generation. Default: everything except metadata and status. */
  generationPart?(object: ApiObject): unknown;
  /** `apiVersion`: the version of the request, for kinds whose versions have different rules. */
  validate?(object: ApiObject, old: ApiObject | undefined, apiVersion: string): readonly FieldError[];
  /** By the name of their subresource. */
  readonly parts?: ReadonlyMap<string, ObjectPart>;
  /** The grace period of a deletion; 0 if the object can be removed at once. */
  graceSeconds?(object: ApiObject, requested: number | undefined): number;
  /** Why an object may not be deleted. */
  deletionProblem?(object: ApiObject): string | undefined;
  /** Whether a deletion sets only `deletionTimestamp`, without a grace period and a new generation. */
  readonly marksTimeAlone?: boolean;
  /** Whether the propagation policy of a deletion is ignored, because objects of this kind own nothing. */
  readonly ownsNothing?: boolean;
  /** Changes an object whose deletion begins. Objects with this hook are never removed at once. */
  markDeleted?(object: ApiObject): ApiObject;
  /** Whether something other than finalizers and the grace period keeps an object that is marked for deletion. */
  isHeld?(object: ApiObject): boolean;
  /** The values of the fields that field selectors support in addition to name and namespace. */
  readonly selectableFields?: { readonly [field: string]: (object: ApiObject) => string };
}

export interface ReviewCall {
  readonly context: ApiContext;
  /** The user that asks. */
  readonly identity: Identity;
  readonly object: ApiObject;
}

/** Returns the status of a review object, such as a SubjectAccessReview. */
export type Review = (call: ReviewCall) => object;

/** How objects that are measured are made from stored ones. */
export interface Measured {
  /** The resource whose stored objects are measured. */
  readonly of: "pods" | "nodes";
  /** The measured object; `undefined` if the stored one has no figures. */
  describe(object: ApiObject, figures: UsageFigures): ApiObject | undefined;
}

export interface ResourceDefinition {
  /** The name in the store. Must not change after a release. */
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
   * Whether kube-apiserver has Go types for the kind, rather than a CustomResourceDefinition: quantities and times are stored
   * in a canonical form, and the keys of lists are used for merges but need not be unique.
   */
  readonly typed: boolean;
  /** Whether `metadata.generation` counts changes of the spec. */
  readonly hasGeneration: boolean;
  /** Whether a PUT may omit the resourceVersion. */
  readonly unconditionalUpdate: boolean;
  /** Whether a PUT creates a missing object. */
  readonly createsOnUpdate: boolean;
  readonly deletesCollections: boolean;
  readonly returnsDeleted: boolean;
  /** Whether a write to the status can also change metadata. */
  readonly statusTakesMetadata: boolean;
  /** `standard`: finalizers without a domain must be standard ones. */
  readonly finalizerRule: "standard" | "any";
  readonly strategy: Strategy;
  /** The revision of the CustomResourceDefinition, for kinds whose schema can change. */
  readonly definedAt?: number | undefined;
  /** The conversion webhook, if any. `Strategy.convert` then works only within one request. */
  readonly converter?: Converter | undefined;
  /** For review kinds, which can only be created and are never stored. */
  readonly review?: Review | undefined;
  /** For kinds that are measured when they are read, and never stored. */
  readonly measured?: Measured | undefined;
}
