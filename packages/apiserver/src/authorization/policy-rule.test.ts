import { describe, expect, test } from "vitest";
import { attributesOf } from "./attributes.ts";
import { type PolicyRule, readRules, ruleAllows } from "./policy-rule.ts";

const pods = "/api/v1/namespaces/ns/pods";
const on = (resources: string[], more: Partial<PolicyRule> = {}): PolicyRule => ({
  verbs: ["*"],
  apiGroups: [""],
  resources,
  ...more,
});
const at = (...nonResourceURLs: string[]): PolicyRule => ({ verbs: ["get"], nonResourceURLs });

describe("ruleAllows()", () => {
  test.for([
    ["the verb", on(["pods"], { verbs: ["get"] }), "GET", `${pods}/p`, true],
    ["another verb", on(["pods"], { verbs: ["get"] }), "GET", pods, false],
    ["no verb", on(["pods"], { verbs: [] }), "GET", pods, false],
    ["every verb", on(["pods"]), "DELETE", pods, true],
    ["another group", on(["pods"], { apiGroups: ["apps"] }), "GET", pods, false],
    ["every group", on(["pods"], { apiGroups: ["*"] }), "GET", pods, true],
    ["no group", { verbs: ["*"], resources: ["*"] }, "GET", pods, false],
    ["another resource", on(["secrets"]), "GET", pods, false],
    ["every resource", on(["*"]), "GET", pods, true],
    ["every resource, with subresources", on(["*"]), "GET", `${pods}/p/log`, true],
    ["a resource without its subresources", on(["pods"]), "GET", `${pods}/p/log`, false],
    ["a subresource", on(["pods/log"]), "GET", `${pods}/p/log`, true],
    ["a subresource without its resource", on(["pods/log"]), "GET", `${pods}/p`, false],
    ["a subresource of everything", on(["*/log"]), "GET", `${pods}/p/log`, true],
    ["another subresource of everything", on(["*/log"]), "GET", `${pods}/p/exec`, false],
    ["a subresource that ends in the same letters", on(["*/catalog"]), "GET", `${pods}/p/log`, false],
    ["there is no pattern for all subresources", on(["pods/*"]), "GET", `${pods}/p/log`, false],
    ["the name", on(["pods"], { resourceNames: ["p"] }), "GET", `${pods}/p`, true],
    ["another name", on(["pods"], { resourceNames: ["q"] }), "GET", `${pods}/p`, false],
    ["names do not allow list", on(["pods"], { resourceNames: ["p"] }), "GET", pods, false],
    ["names do not allow create", on(["pods"], { resourceNames: ["p"] }), "POST", pods, false],
    [
      "a list of the name",
      on(["pods"], { resourceNames: ["p"] }),
      "GET",
      `${pods}?fieldSelector=metadata.name%3Dp`,
      true,
    ],
    ["a path is not a resource", on(["*"], { apiGroups: ["*"] }), "GET", "/healthz", false],
    ["a resource is not a path", at("*"), "GET", `${pods}/p`, false],
    ["the path", at("/healthz"), "GET", "/healthz", true],
    ["a path below", at("/healthz"), "GET", "/healthz/etcd", false],
    ["paths below", at("/healthz/*"), "GET", "/healthz/etcd", true],
    ["paths below and not the path", at("/healthz/*"), "GET", "/healthz", false],
    ["every path", at("*"), "GET", "/metrics", true],
    ["a star in the middle", at("/healthz/*/x"), "GET", "/healthz/y/x", false],
    ["another verb on a path", at("*"), "POST", "/metrics", false],
  ] as const)("%s", ([, rule, method, url, allowed]) => {
    expect(ruleAllows(rule, attributesOf({ method, url }))).toBe(allowed);
  });
});

describe("readRules()", () => {
  test.for([
    [undefined, []],
    ["junk", []],
    [[null, 1, []], []],
    [[{}], [{ verbs: [] }]],
    [[{ verbs: ["get", 1], resources: [], apiGroups: null }], [{ verbs: ["get"] }]],
  ] as const)("%j grants %j", ([value, rules]) => {
    expect(readRules(value)).toEqual(rules);
  });
});
