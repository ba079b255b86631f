/**
 * What the user may do, so that the page offers nothing that the server would refuse. The server decides again on every call. One
 * SelfSubjectRulesReview answers for a namespace; what it leaves open is asked with a SelfSubjectAccessReview.
 */
import type { ApiClient } from "./api-client.ts";
import { groupOf, type Resource } from "./resources.ts";

/** `connect`: reach the ports and the runtime API of a sandbox. */
export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "connect";

export interface Rule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface Question {
  readonly verb: Verb;
  readonly group: string;
  /** With its subresource, as in `pods/exec`. */
  readonly resource: string;
}

const names = (list: readonly string[] | undefined, wanted: string): boolean =>
  list?.some((one) => one === "*" || one === wanted) ?? false;

/** Whether rules allow this for every object. Rules for single names do not count. */
export function allows(rules: readonly Rule[], { verb, group, resource }: Question): boolean {
  const [, subresource] = resource.split("/");
  return rules.some(
    (rule) =>
      (rule.resourceNames ?? []).length === 0 &&
      names(rule.verbs, verb) &&
      names(rule.apiGroups, group) &&
      (names(rule.resources, resource) || (subresource !== undefined && names(rule.resources, `*/${subresource}`))),
  );
}

interface RulesReview {
  readonly status?: { readonly resourceRules?: readonly Rule[]; readonly incomplete?: boolean };
}

interface AccessReview {
  readonly status?: { readonly allowed?: boolean };
}

const authorization = "/apis/authorization.k8s.io/v1";

export class Access {
  readonly #api: ApiClient;
  readonly #rules = new Map<string, Promise<RulesReview>>();
  readonly #answers = new Map<string, Promise<boolean>>();

  constructor(api: ApiClient) {
    this.#api = api;
  }

  /** Without a namespace: in all of them. Answers "no" if the server cannot be asked. */
  can(
    verb: Verb,
    { plural, ...resource }: Resource<unknown>,
    { namespace, subresource }: { readonly namespace?: string | undefined; readonly subresource?: string } = {},
  ): Promise<boolean> {
    const name = subresource === undefined ? plural : `${plural}/${subresource}`;
    const question = { verb, group: groupOf(resource), resource: name };
    const key = [verb, question.group, name, namespace ?? ""].join(" ");
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const answer = this.#find(question, namespace).catch(() => {
      this.#answers.delete(key);
      return false;
    });
    this.#answers.set(key, answer);
    return answer;
  }

  async #find(question: Question, namespace: string | undefined): Promise<boolean> {
    if (namespace === undefined) return this.#ask(question, namespace);
    const { status } = await this.#rulesOf(namespace);
    if (allows(status?.resourceRules ?? [], question)) return true;
    return status?.incomplete === true ? this.#ask(question, namespace) : false;
  }

  #rulesOf(namespace: string): Promise<RulesReview> {
    const known = this.#rules.get(namespace);
    if (known !== undefined) return known;
    const kind = "SelfSubjectRulesReview";
    const body = { apiVersion: "authorization.k8s.io/v1", kind, spec: { namespace } };
    const asked = this.#api.request<RulesReview>("POST", `${authorization}/selfsubjectrulesreviews`, { body });
    asked.catch(() => this.#rules.delete(namespace));
    this.#rules.set(namespace, asked);
    return asked;
  }

  async #ask({ verb, group, resource }: Question, namespace: string | undefined): Promise<boolean> {
    const [plural, subresource] = resource.split("/");
    const attributes = { verb, group, resource: plural, subresource, namespace };
    const kind = "SelfSubjectAccessReview";
    const body = { apiVersion: "authorization.k8s.io/v1", kind, spec: { resourceAttributes: attributes } };
    const review = await this.#api.request<AccessReview>("POST", `${authorization}/selfsubjectaccessreviews`, { body });
    return review.status?.allowed === true;
  }
}
