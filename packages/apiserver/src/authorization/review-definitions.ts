import { selfSubjectReview, tokenReview } from "../auth/token-review.ts";
import type { ResourceDefinition, Review, Schema } from "../resources/definition.ts";
import { localSubjectAccessReview, selfSubjectAccessReview, subjectAccessReview } from "./access-review.ts";
import { selfSubjectRulesReview } from "./rules-review.ts";

const text: Schema = { type: "string" };
const texts: Schema = { type: "array", items: text };
const anything: Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const object = (properties: Record<string, Schema>): Schema => ({ type: "object", properties });

const attributes = {
  nonResourceAttributes: object({ path: text, verb: text }),
  resourceAttributes: object({
    namespace: text,
    verb: text,
    group: text,
    version: text,
    resource: text,
    subresource: text,
    name: text,
    fieldSelector: anything,
    labelSelector: anything,
  }),
};
const subject = {
  user: text,
  groups: texts,
  uid: text,
  extra: { type: "object", additionalProperties: texts } as Schema,
};

interface ReviewKind {
  readonly kind: string;
  readonly group: string;
  readonly namespaced?: boolean;
  readonly spec: Schema;
  readonly review: Review;
}

const authentication = "authentication.k8s.io";
const authorization = "authorization.k8s.io";

const kinds: readonly ReviewKind[] = [
  {
    kind: "TokenReview",
    group: authentication,
    spec: object({ token: text, audiences: texts }),
    review: tokenReview,
  },
  { kind: "SelfSubjectReview", group: authentication, spec: object({}), review: selfSubjectReview },
  {
    kind: "SubjectAccessReview",
    group: authorization,
    spec: object({ ...attributes, ...subject }),
    review: subjectAccessReview,
  },
  {
    kind: "LocalSubjectAccessReview",
    group: authorization,
    namespaced: true,
    spec: object({ ...attributes, ...subject }),
    review: localSubjectAccessReview,
  },
  { kind: "SelfSubjectAccessReview", group: authorization, spec: object(attributes), review: selfSubjectAccessReview },
  {
    kind: "SelfSubjectRulesReview",
    group: authorization,
    spec: object({ namespace: text }),
    review: selfSubjectRulesReview,
  },
];

const common = {
  shortNames: [],
  categories: [],
  nameRule: "subdomain",
  typed: false,
  hasGeneration: false,
  unconditionalUpdate: true,
  createsOnUpdate: false,
  deletesCollections: false,
  returnsDeleted: false,
  statusTakesMetadata: false,
  finalizerRule: "any",
  strategy: {},
} as const;

/** The kinds that answer questions about users and their permissions. They are not stored. */
export const reviewDefinitions: readonly ResourceDefinition[] = kinds.map(define);

function define({ kind, group, namespaced = false, spec, review }: ReviewKind): ResourceDefinition {
  const singular = kind.toLowerCase();
  const version = "v1";
  const apiVersion = `${group}/${version}`;
  const schema = object({ spec, status: anything });
  const plural = `${singular}s`;
  const versions = [{ group, version, apiVersion, schema, hasStatus: false, columns: [] }] as const;
  return { ...common, id: plural, kind, plural, singular, namespaced, versions, review };
}
