import type { Pod, Secret } from "@agent-sandbox/api";
import type { KubeObject, Resource } from "@agent-sandbox/kube";

export const pods: Resource<Pod> = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };
export const secrets: Resource<Secret> = { apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true };

export interface TokenReview extends KubeObject {
  readonly spec: { readonly token: string; readonly audiences?: readonly string[] };
  readonly status?: {
    readonly authenticated?: boolean;
    readonly audiences?: readonly string[];
    readonly user?: {
      readonly username?: string;
      readonly uid?: string;
      readonly groups?: readonly string[];
      readonly extra?: Readonly<Record<string, readonly string[]>>;
    };
  };
}

export const tokenReviews: Resource<TokenReview> = {
  apiVersion: "authentication.k8s.io/v1",
  kind: "TokenReview",
  plural: "tokenreviews",
  namespaced: false,
};

export interface SubjectAccessReview extends KubeObject {
  readonly spec: {
    readonly user: string;
    readonly uid?: string;
    readonly groups?: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>>;
    readonly resourceAttributes: {
      readonly group: string;
      readonly resource: string;
      readonly verb: string;
      readonly namespace: string;
      readonly name: string;
    };
  };
  readonly status?: { readonly allowed?: boolean; readonly denied?: boolean };
}

export const subjectAccessReviews: Resource<SubjectAccessReview> = {
  apiVersion: "authorization.k8s.io/v1",
  kind: "SubjectAccessReview",
  plural: "subjectaccessreviews",
  namespaced: false,
};
