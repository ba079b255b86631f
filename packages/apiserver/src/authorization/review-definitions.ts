import { selfSubjectReview, tokenReview } from "../auth/token-review.ts";
import type { ResourceDefinition, Review, Schema } from "../resources/definition.ts";
import { localSubjectAccessReview, selfSubjectAccessReview, subjectAccessReview } from "./access-review.ts";
import { selfSubjectRulesReview } from "./rules-review.ts";

const text: Schema = { type: "string" };
const texts: Schema = { type: "array", items: text };
const anything: Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const object = (properties: Record<string, Schema>): Schema => ({ type: "object", properties });

const described = (schema: Schema, description: string): Schema => ({ ...schema, description });

const asked = {
  nonResourceAttributes: described(object({ path: text, verb: text }), "The path to ask about, if it is no resource."),
  resourceAttributes: described(
    object({
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
    "The resource to ask about, and what is to be done with it.",
  ),
};
const asker = {
  user: described(text, "The user to ask about."),
  groups: described(texts, "The groups that the user is in."),
  uid: described(text, "The uid of the user."),
  extra: described({ type: "object", additionalProperties: texts }, "What else is known about the user."),
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
    spec: object({
      token: described(text, "The token to ask about."),
      audiences: described(texts, "For whom it must be meant. Absent: for this server."),
    }),
    review: tokenReview,
  },
  { kind: "SelfSubjectReview", group: authentication, spec: object({}), review: selfSubjectReview },
  {
    kind: "SubjectAccessReview",
    group: authorization,
    spec: object({ ...asked, ...asker }),
    review: subjectAccessReview,
  },
  {
    kind: "LocalSubjectAccessReview",
    group: authorization,
    namespaced: true,
    spec: object({ ...asked, ...asker }),
    review: localSubjectAccessReview,
  },
  { kind: "SelfSubjectAccessReview", group: authorization, spec: object(asked), review: selfSubjectAccessReview },
  {
    kind: "SelfSubjectRulesReview",
    group: authorization,
    spec: object({ namespace: described(text, "The namespace to ask about.") }),
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

/** Questions about users and their rights. */
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
