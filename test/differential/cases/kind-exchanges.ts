import { applyMergePatch } from "@agent-sandbox/api";
import type { Case, ExchangeStep, Step } from "../case.ts";
import type { KindUnderTest } from "./kind-under-test.ts";

const other = "00000000-0000-0000-0000-000000000000";

/** The cases of one kind: every verb with its options and errors. */
export function kindExchanges(kind: KindUnderTest): Case[] {
  const kit = new Kit(kind);
  return [
    ...lifeCases(kit),
    ...readCases(kit),
    ...changeCases(kit),
    ...removalCases(kit),
    ...watchCases(kit),
    ...invalidCases(kit),
  ];
}

/** Builds paths, objects and requests of one kind. Objects are named after the namespace, so that cluster-scoped ones are unique. */
class Kit {
  readonly kind: KindUnderTest;
  readonly collection: string;
  readonly #title: string;

  constructor(kind: KindUnderTest) {
    this.kind = kind;
    const { apiVersion, plural, namespaced = true, title = plural } = kind;
    const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    this.collection = namespaced ? `${root}/namespaces/{{ns}}/${plural}` : `${root}/${plural}`;
    this.#title = title;
  }

  case(what: string, steps: readonly Step[], more: Partial<Case> = {}): Case {
    return { name: `${this.#title} ${what}`, steps, ...more };
  }

  item(name = "{{ns}}-a"): string {
    return `${this.collection}/${name}`;
  }

  object(name = "{{ns}}-a", more: object = {}): object {
    const { apiVersion, kind, valid } = this.kind;
    const base = { apiVersion, kind, metadata: { name, labels: { test: "{{ns}}" } }, ...valid };
    return applyMergePatch(base, more) as object;
  }

  create(body: unknown = this.object(), query = ""): ExchangeStep {
    return { method: "POST", path: this.collection + query, body };
  }

  get(query = "", headers: Record<string, string> = {}): ExchangeStep {
    return { method: "GET", path: this.item() + query, headers };
  }

  list(query = "", headers: Record<string, string> = {}): ExchangeStep {
    return { method: "GET", path: `${this.collection}?labelSelector=test={{ns}}${query}`, headers };
  }

  patch(type: string, body: unknown, query = ""): ExchangeStep {
    const headers = { "content-type": `application/${type}+${type === "apply-patch" ? "yaml" : "json"}` };
    return { method: "PATCH", path: this.item() + query, headers, body };
  }

  remove(body?: unknown, query = ""): ExchangeStep {
    return { method: "DELETE", path: this.item() + query, ...(body === undefined ? {} : { body }) };
  }
}

function lifeCases(kit: Kit): Case[] {
  const { kind } = kit;
  const noName = { metadata: { name: null } };
  return [
    kit.case("create, read, create again", [kit.create(), kit.get(), kit.create()]),
    kit.case("create without effect", [kit.create(undefined, "?dryRun=All"), kit.get()]),
    kit.case("create with a made-up name", [
      kit.create(kit.object("", { metadata: { name: null, generateName: "{{ns}}-" } })),
    ]),
    kit.case("create what is misnamed", [
      kit.create(kit.object("", noName)),
      kit.create(kit.object("Not A Name")),
      kit.create(kit.object(undefined, { metadata: { labels: { "a b": "c" } } })),
      kit.create(kit.object(undefined, { metadata: { annotations: { "a b": "c" } } })),
      kit.create(kit.object(undefined, { metadata: { finalizers: ["no slash", "example.com/x"] } })),
      kit.create(
        kit.object(undefined, { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "x" }] } }),
      ),
      kit.create(kit.object(undefined, { metadata: { namespace: "elsewhere" } })),
      kit.create(kit.object(undefined, { metadata: { resourceVersion: "1" } })),
    ]),
    kit.case("create what is something else", [
      kit.create(kit.object(undefined, { kind: "Teapot" })),
      kit.create(kit.object(undefined, { apiVersion: "example.com/v1" })),
      kit.create({ metadata: { name: "{{ns}}-a" }, ...kind.valid }),
      kit.create({ ...kit.object(), apiVersion: "" }),
    ]),
    kit.case("create from bad bodies", [
      kit.create('{"apiVersion":'),
      kit.create("[]"),
      kit.create(""),
      kit.create('"text"'),
      kit.create("null"),
      { ...kit.create(kit.object()), headers: { "content-type": "text/plain" } },
      { ...kit.create(kit.object()), headers: { "content-type": "application/xml" } },
    ]),
    kit.case("create with unknown fields", [
      kit.create(kit.object("{{ns}}-strict", { bogus: 1, metadata: { wrong: 2 } }), "?fieldValidation=Strict"),
      kit.create(kit.object("{{ns}}-warn", { bogus: 1, metadata: { wrong: 2 } }), "?fieldValidation=Warn"),
      kit.create(kit.object("{{ns}}-ignore", { bogus: 1 }), "?fieldValidation=Ignore"),
      kit.create(
        `{"kind":"${kind.kind}","kind":"${kind.kind}",${JSON.stringify(kit.object("{{ns}}-twice")).slice(1)}`,
        "?fieldValidation=Strict",
      ),
    ]),
    kit.case("ask in the wrong way", [
      kit.create(undefined, "?dryRun=Some"),
      kit.create(undefined, "?fieldValidation=Perhaps"),
      kit.create(undefined, `?fieldManager=${"m".repeat(200)}`),
      { method: "PUT", path: kit.collection, body: kit.object() },
      { method: "PATCH", path: kit.collection, body: {}, headers: { "content-type": "application/merge-patch+json" } },
      { method: "POST", path: kit.item(), body: kit.object() },
      { method: "GET", path: `${kit.item()}/nosuch` },
      { method: "GET", path: `${kit.item()}/status/more` },
    ]),
  ];
}

function readCases(kit: Kit): Case[] {
  const table = (v: string): Record<string, string> => ({ accept: `application/json;as=Table;v=${v};g=meta.k8s.io` });
  const meta = (as: string): Record<string, string> => ({ accept: `application/json;as=${as};v=v1;g=meta.k8s.io` });
  const two = [
    kit.create(kit.object("{{ns}}-a")),
    kit.create(kit.object("{{ns}}-b", { metadata: { labels: { b: "1" } } })),
  ];
  return [
    kit.case("list by selectors", [
      ...two,
      kit.list(),
      kit.list(",b=1"),
      kit.list(",b!=1"),
      kit.list(",b%20in%20(1,2)"),
      kit.list(",!b"),
      kit.list("&fieldSelector=metadata.name={{ns}}-b"),
      kit.list("&fieldSelector=metadata.name!={{ns}}-b"),
      kit.list("&fieldSelector=spec.nosuch=1"),
      kit.list(",b%20near%201"),
      kit.list("&fieldSelector=metadata.name"),
    ]),
    kit.case("list page by page", [
      ...two,
      { ...kit.list("&limit=1"), save: { next: "metadata.continue" } },
      kit.list("&limit=1&continue={{next}}"),
      kit.list("&limit=1&continue=garbage"),
      kit.list("&limit=1&continue={{next}}&resourceVersion=1"),
    ]),
    kit.case("list with bad questions", [
      kit.list("&limit=many"),
      kit.list("&limit=-1"),
      kit.list("&timeoutSeconds=soon"),
      kit.list("&resourceVersion=abc"),
      kit.list("&resourceVersionMatch=Exact"),
      kit.list("&resourceVersion=1&resourceVersionMatch=Roughly"),
      kit.list("&resourceVersion=0&resourceVersionMatch=Exact"),
      kit.list("&watch=maybe&timeoutSeconds=1"),
      kit.list("&sendInitialEvents=true"),
    ]),
    kit.case("read as a table", [
      ...two,
      kit.list("", table("v1")),
      kit.get("", table("v1")),
      kit.get("?includeObject=Object", table("v1")),
      kit.get("?includeObject=None", table("v1")),
      kit.get("?includeObject=Some", table("v1")),
    ]),
    kit.case("read metadata alone", [
      ...two,
      kit.list("", meta("PartialObjectMetadataList")),
      kit.get("", meta("PartialObjectMetadata")),
      kit.get("", meta("PartialObjectMetadataList")),
      kit.list("", meta("PartialObjectMetadata")),
      kit.list("&watch=true&timeoutSeconds=1", meta("PartialObjectMetadata")),
      kit.get("", meta("Unheard")),
      kit.get("", { accept: "application/xml" }),
      kit.get("", { accept: "text/html, */*" }),
      kit.get("", { accept: "application/yaml" }),
      kit.get("", { accept: "application/json;as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io" }),
      kit.get("", { accept: `${meta("Unheard")["accept"]},application/json;as=Table;v=v1beta1;g=meta.k8s.io` }),
      { ...kit.remove(undefined, "?dryRun=All"), headers: meta("PartialObjectMetadata") },
    ]),
    kit.case("read what is not there", [
      kit.get(),
      kit.get("?resourceVersion=abc"),
      { method: "PUT", path: kit.item("{{ns}}-b"), body: kit.object("{{ns}}-b", { metadata: { uid: other } }) },
      {
        method: "PUT",
        path: kit.item("{{ns}}-c"),
        body: kit.object("{{ns}}-c", { metadata: { resourceVersion: "1" } }),
      },
      { method: "PUT", path: kit.item(), body: kit.object() },
      kit.patch("merge-patch", {}),
      kit.remove(),
      { method: "GET", path: `${kit.item()}/status` },
    ]),
  ];
}

function changeCases(kit: Kit): Case[] {
  const { change, status } = kit.kind;
  const read = { ...kit.create(), save: { rv: "metadata.resourceVersion", uid: "metadata.uid" } };
  const put = (more: object): ExchangeStep => ({
    method: "PUT",
    path: kit.item(),
    body: applyMergePatch(kit.object(), more),
  });
  const onStatus = (step: ExchangeStep): ExchangeStep => ({ ...step, path: `${kit.item()}/status` });
  return [
    kit.case("replace", [
      read,
      put({ ...change, metadata: { resourceVersion: "{{rv}}", labels: { changed: "yes" } } }),
      put({ metadata: { resourceVersion: "{{rv}}" } }),
      put({ metadata: { resourceVersion: "1" } }),
      put(change),
      put({ metadata: { uid: other } }),
      put({ metadata: { name: "other" } }),
      put({ metadata: { name: null } }),
      put({ metadata: { namespace: "elsewhere" } }),
      put({ metadata: { resourceVersion: "abc" } }),
      put({ kind: "Teapot" }),
      kit.get(),
    ]),
    kit.case("patch by merge", [
      read,
      kit.patch("merge-patch", change),
      kit.patch("merge-patch", change),
      kit.patch(
        "merge-patch",
        { metadata: { labels: { test: "{{ns}}", x: "y" }, annotations: { a: "b" } } },
        "?dryRun=All",
      ),
      kit.patch("merge-patch", { metadata: { resourceVersion: "1" } }),
      kit.patch("merge-patch", { metadata: { name: "other" } }),
      kit.patch("merge-patch", { metadata: { labels: { "a b": "c" } } }),
      kit.patch("merge-patch", { bogus: 1 }, "?fieldValidation=Strict"),
      kit.patch("merge-patch", "{"),
      kit.patch("merge-patch", "[]"),
      kit.get(),
    ]),
    kit.case("patch by operations", [
      read,
      kit.patch("json-patch", [{ op: "add", path: "/metadata/labels/x", value: "y" }]),
      kit.patch("json-patch", [{ op: "test", path: "/metadata/labels/x", value: "z" }]),
      kit.patch("json-patch", [{ op: "remove", path: "/metadata/labels/nosuch" }]),
      kit.patch("json-patch", [{ op: "replace", path: "/metadata/nosuch/deep", value: 1 }]),
      kit.patch("json-patch", [
        { op: "copy", from: "/metadata/labels/x", path: "/metadata/labels/y" },
        { op: "move", from: "/metadata/labels/x", path: "/metadata/labels/z" },
      ]),
      kit.patch("json-patch", [{ op: "jump", path: "/metadata" }]),
      kit.patch("json-patch", {}),
      kit.patch("json-patch", []),
      kit.patch("teapot-patch", []),
      kit.get(),
    ]),
    kit.case("patch by strategy", [
      read,
      kit.patch("strategic-merge-patch", { metadata: { labels: { x: "y" }, finalizers: ["example.com/x"] } }),
      kit.patch("strategic-merge-patch", {
        metadata: { labels: { x: null }, "$deleteFromPrimitiveList/finalizers": ["example.com/x"] },
      }),
      kit.patch("strategic-merge-patch", { metadata: { labels: { $patch: "replace", test: "{{ns}}", only: "this" } } }),
      kit.patch("strategic-merge-patch", "{"),
    ]),
    kit.case("apply", [
      kit.patch("apply-patch", kit.object(), "?fieldManager=one"),
      kit.patch("apply-patch", kit.object(), "?fieldManager=one"),
      kit.patch(
        "apply-patch",
        kit.object(undefined, { metadata: { labels: { test: "{{ns}}-other" } } }),
        "?fieldManager=two",
      ),
      kit.patch(
        "apply-patch",
        kit.object(undefined, { metadata: { labels: { test: "{{ns}}-other" } } }),
        "?fieldManager=two&force=true",
      ),
      kit.patch("apply-patch", kit.object()),
      kit.patch("apply-patch", kit.object(undefined, { metadata: { managedFields: [] } }), "?fieldManager=one"),
    ]),
    kit.case(
      "who owns which field",
      [
        { ...kit.create(undefined, "?fieldManager=one") },
        kit.patch("merge-patch", change, "?fieldManager=two"),
        kit.patch("merge-patch", { metadata: { labels: { test: null } } }, "?fieldManager=three"),
      ],
      { managedFields: true },
    ),
    kit.case("write the status", [
      kit.create(),
      onStatus({ ...put({ status: status ?? {}, metadata: { labels: { ignored: "yes" } } }) }),
      onStatus(kit.patch("merge-patch", { status: status ?? {} })),
      onStatus({ method: "GET", path: "" }),
      kit.patch("merge-patch", { status: status ?? {} }),
    ]),
  ];
}

function removalCases(kit: Kit): Case[] {
  const created = { ...kit.create(), save: { rv: "metadata.resourceVersion", uid: "metadata.uid" } };
  const options = { apiVersion: "v1", kind: "DeleteOptions" };
  const held = kit.create(kit.object(undefined, { metadata: { finalizers: ["example.com/hold"] } }));
  return [
    kit.case("delete on conditions", [
      created,
      kit.remove({ ...options, preconditions: { uid: other } }),
      kit.remove({ ...options, preconditions: { resourceVersion: "1" } }),
      kit.remove({ ...options, dryRun: ["All"] }),
      kit.remove(undefined, "?propagationPolicy=Sideways"),
      kit.remove(undefined, "?gracePeriodSeconds=long"),
      kit.remove({ ...options, gracePeriodSeconds: -5, dryRun: ["All"] }),
      kit.remove({ ...options, orphanDependents: true, propagationPolicy: "Orphan" }),
      kit.remove({ kind: "Teapot" }),
      kit.remove("{"),
      kit.remove({ ...options, gracePeriodSeconds: 0, preconditions: { uid: "{{uid}}", resourceVersion: "{{rv}}" } }),
    ]),
    kit.case("delete what is held", [
      held,
      kit.remove({ ...options, gracePeriodSeconds: 0 }),
      kit.patch("merge-patch", { metadata: { finalizers: ["example.com/hold", "example.com/new"] } }),
      kit.patch("merge-patch", { metadata: { labels: { late: "yes" } } }),
      kit.patch("merge-patch", { metadata: { finalizers: null } }),
    ]),
    kit.case("delete in the foreground", [
      created,
      kit.remove({ ...options, propagationPolicy: "Foreground", gracePeriodSeconds: 0 }),
    ]),
    kit.case("delete a collection", [
      kit.create(kit.object("{{ns}}-a")),
      kit.create(kit.object("{{ns}}-b")),
      { method: "DELETE", path: `${kit.collection}?labelSelector=test={{ns}}&dryRun=All` },
      {
        method: "DELETE",
        path: `${kit.collection}?labelSelector=test={{ns}}&gracePeriodSeconds=0&fieldSelector=metadata.name={{ns}}-b`,
      },
      kit.list("", { accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io" }),
    ]),
  ];
}

function watchCases(kit: Kit): Case[] {
  const start = { ...kit.list(), save: { start: "metadata.resourceVersion" } };
  return [
    kit.case("watch", [
      start,
      kit.create(),
      kit.patch("merge-patch", kit.kind.change),
      kit.patch("merge-patch", { metadata: { labels: { test: "gone" } } }),
      kit.patch("merge-patch", { metadata: { labels: { test: "{{ns}}" } } }),
      kit.remove({ kind: "DeleteOptions", apiVersion: "v1", gracePeriodSeconds: 0 }),
      kit.list("&watch=true&timeoutSeconds=1&resourceVersion={{start}}"),
      kit.list("&watch=true&timeoutSeconds=1&resourceVersion={{start}}", {
        accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
      }),
      kit.list("&watch=true&timeoutSeconds=1&resourceVersion=abc"),
    ]),
    kit.case("watch from what is there", [
      kit.create(),
      kit.list("&watch=true&timeoutSeconds=1"),
      kit.list(
        "&watch=true&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan",
      ),
      kit.list("&watch=true&timeoutSeconds=1&sendInitialEvents=true"),
      kit.list("&watch=true&timeoutSeconds=1&allowWatchBookmarks=true"),
      kit.list("&watch=true&timeoutSeconds=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"),
      kit.list("&watch=true&timeoutSeconds=1&resourceVersion=0"),
    ]),
  ];
}

function invalidCases(kit: Kit): Case[] {
  return Object.entries(kit.kind.invalid).map(([what, patch]) =>
    kit.case(`invalid ${what}`, [kit.create(kit.object(undefined, patch))]),
  );
}
