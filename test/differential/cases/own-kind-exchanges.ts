import type { Case } from "../case.ts";
import { asTable, get, merge, post } from "./exchange-steps.ts";

const crd = (more: object): object => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "{{ns}}s.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "{{ns}}s", singular: "{{ns}}", kind: "Widget{{ns}}", listKind: "Widget{{ns}}List" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", properties: { size: { type: "integer", minimum: 1, default: 3 } } },
            },
          },
        },
      },
    ],
    ...more,
  },
});
const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const definition = `${crds}/{{ns}}s.example.com`;
const ownVersion = (name: string, properties: object, more: object = {}): object => ({
  name,
  served: true,
  storage: true,
  schema: {
    openAPIV3Schema: {
      type: "object",
      properties: {
        spec: { type: "object", properties },
        status: { type: "object", properties: { size: { type: "integer" }, selector: { type: "string" } } },
      },
    },
  },
  ...more,
});
const extras = {
  subresources: {
    status: {},
    scale: {
      specReplicasPath: ".spec.size",
      statusReplicasPath: ".status.size",
      labelSelectorPath: ".status.selector",
    },
  },
  selectableFields: [{ jsonPath: ".spec.shape" }],
  additionalPrinterColumns: [
    { name: "Size", type: "integer", jsonPath: ".spec.size" },
    { name: "Shape", type: "string", jsonPath: ".spec.shape", priority: 1, description: "How it looks" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
};
const widgets = "/apis/example.com/v1/namespaces/{{ns}}/{{ns}}s";
const widget = (name: string, spec: object): object => ({
  apiVersion: "example.com/v1",
  kind: "Widget{{ns}}",
  metadata: { name },
  spec,
});

/** Kinds defined by CustomResourceDefinitions. */
export const ownKindExchanges: readonly Case[] = [
  {
    name: "own kind",
    steps: [
      post(crds, crd({})),
      { ...get(widgets), retryUntil: 200 },
      post(widgets, widget("a", {})),
      post(widgets, widget("b", { size: 0 })),
      post(widgets, widget("c", { size: 1, color: "red" })),
      get(widgets),
      get(`${widgets}/a`, asTable),
      { method: "DELETE", path: definition },
      { ...get(definition), retryUntil: 404 },
      { ...get(widgets), retryUntil: 404 },
    ],
  },
  {
    name: "own kind that changes",
    steps: [
      post(
        crds,
        crd({ versions: [ownVersion("v1", { size: { type: "integer" }, shape: { type: "string" } }, extras)] }),
      ),
      { ...get(widgets), retryUntil: 200 },
      post(widgets, { ...widget("a", { size: 3, shape: "round" }), status: { size: 9 } }),
      merge(`${widgets}/a/status`, { status: { size: 4, selector: "a=b" }, spec: { size: 5 } }),
      get(`${widgets}/a/scale`),
      get(`${widgets}?fieldSelector=spec.shape=round`),
      get(`${widgets}?fieldSelector=spec.size=3`),
      get(widgets, asTable),
      merge(definition, { spec: { scope: "Cluster" } }),
      merge(definition, { spec: { names: { kind: "Other" } } }),
      merge(definition, { spec: { versions: [ownVersion("v2", {})] } }),
      merge(definition, {
        spec: {
          versions: [ownVersion("v1", { color: { type: "string", default: "red" }, size: { type: "integer" } })],
        },
      }),
      { ...get(`${widgets}/a/scale`), retryUntil: 404 },
      get(`${widgets}/a`),
      get(widgets),
      get(`${widgets}?watch=true&timeoutSeconds=1`),
      merge(`${widgets}/a`, { metadata: { labels: { touched: "yes" } } }),
    ],
  },
  {
    name: "own kind of several versions",
    steps: [
      post(
        crds,
        crd({
          versions: [
            { ...ownVersion("v1", { a: { type: "string" } }), storage: false, deprecated: true },
            ownVersion("v2", { a: { type: "string" }, b: { type: "string", default: "x" } }),
            { ...ownVersion("v3beta1", { a: { type: "string" } }), storage: false, served: false },
          ],
        }),
      ),
      { ...get(widgets), retryUntil: 200 },
      post(widgets, widget("a", { a: "1", b: "2" })),
      get(`${widgets.replace("/v1/", "/v2/")}/a`),
      get(`${widgets}/a`),
      get(`${widgets.replace("/v1/", "/v3beta1/")}/a`),
      merge(`${widgets}/a`, { spec: { a: "2" } }),
      get(widgets.replace("/v1/", "/v2/")),
    ],
  },
  {
    name: "bad kinds",
    steps: [
      post(crds, crd({ scope: "Galaxy" })),
      post(crds, crd({ versions: [] })),
      post(crds, crd({ versions: [{ name: "v1", served: true, storage: true }] })),
      post(crds, crd({ group: "other.example.com" })),
      post(
        crds,
        crd({
          versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "array" } } }],
        }),
      ),
    ],
  },
];
