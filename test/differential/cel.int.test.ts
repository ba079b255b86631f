import { readFileSync } from "node:fs";
import { Agent } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { createApiServer } from "@agent-sandbox/apiserver";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { refused, ruleCases, selfSchema, truths } from "../../packages/api/src/schema/cel/expressions.test.support.ts";
import { ensureBinaries } from "../kube-apiserver/binaries.ts";
import { startKubernetes } from "../kube-apiserver/start.ts";
import { type ApiAnswer, type ApiServerAddress, ask } from "./ask.ts";
import { brokenSchemas, tooCostlyThere, transitions } from "./cel-cases.ts";

// Outside the timeout of a test, because the first run on a machine compiles Kubernetes.
await ensureBinaries();

const stack = new AsyncDisposableStack();
let servers: readonly ApiServerAddress[];

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

const rules = [...truths, ...ruleCases.map(({ rule }) => rule)].filter((rule) => !tooCostlyThere.includes(rule));
/** Several definitions, because kube-apiserver limits the cost of all rules of a definition. */
const chunks = Array.from({ length: 4 }, (_, at) => rules.filter((_rule, index) => index % 4 === at));

function definition(plural: string, schema: object): object {
  const kind = plural.slice(0, 1).toUpperCase() + plural.slice(1, -1);
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.cel.example.com` },
    spec: {
      group: "cel.example.com",
      scope: "Cluster",
      names: { plural, singular: plural.slice(0, -1), kind, listKind: `${kind}List` },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  };
}

const ruled = (rule: string): object => ({ ...selfSchema, "x-kubernetes-validations": [{ rule }] });
const withSpec = (spec: object): object => ({ type: "object", properties: { spec } });

const post = (path: string, body: object): Promise<readonly ApiAnswer[]> =>
  Promise.all(servers.map((server) => ask(server, { method: "POST", path, body })));

/** The fields and reasons in an error response. */
const causesOf = ({ body }: ApiAnswer): string[] =>
  (body.details?.causes ?? []).map(({ field, reason }) => `${field}: ${reason}`).sort();

const verdict = (answer: ApiAnswer): object => ({ status: answer.status, causes: causesOf(answer) });

/** The common value, or a text with both values. */
function agreed<T>(values: readonly T[]): T {
  const [theirs, ours] = values;
  expect(ours).toEqual(theirs);
  return theirs as T;
}

/** Creates a definition on both servers and waits until objects can be created. */
async function serve(plural: string, schema: object, probe: object): Promise<void> {
  for (const answer of await post(crds, definition(plural, schema))) {
    if (answer.status !== 201) throw new Error(`Cannot serve "${plural}": ${answer.body.message}`);
  }
  for (let attempt = 0; attempt < attempts; attempt++) {
    const answers = await post(objects(plural), probe);
    if (answers.every(({ status }) => status === 201)) return;
    await sleep(pauseMs);
  }
  throw new Error(`Cannot serve "${plural}": objects cannot be created`);
}

const attempts = 300;
const pauseMs = 100;

const objects = (plural: string): string => `/apis/cel.example.com/v1/${plural}?dryRun=All`;
const object = (kind: string, rest: object): object => ({
  apiVersion: "cel.example.com/v1",
  kind,
  metadata: { name: "x" },
  ...rest,
});

describe("rules of CustomResourceDefinitions, on kube-apiserver and the embedded server", () => {
  beforeAll(async () => {
    const kubernetes = stack.use(await startKubernetes({ controllers: [] }));
    const embedded = stack.use(await createApiServer());
    const { url, authority, token } = await embedded.listen();
    const theirAuthority = readFileSync(kubernetes.authority.certificate, "utf8");
    const agents = [theirAuthority, authority].map((ca) => new Agent({ ca, keepAlive: true, maxSockets: 8 }));
    for (const agent of agents) stack.defer(() => agent.destroy());
    servers = [
      { url: kubernetes.url, token: kubernetes.admin.token, agent: agents[0] as Agent },
      { url, token, agent: agents[1] as Agent },
    ];
    for (const [at, part] of chunks.entries()) {
      const properties = Object.fromEntries(part.map((rule) => [`r${rules.indexOf(rule)}`, ruled(rule)]));
      await serve(`part${at}s`, { type: "object", properties }, object(`Part${at}`, {}));
    }
  }, 60 * 60_000);

  afterAll(() => stack.disposeAsync());

  const judge = async (rule: string, value: unknown): Promise<readonly ApiAnswer[]> => {
    const at = chunks.findIndex((part) => part.includes(rule));
    return post(objects(`part${at}s`), object(`Part${at}`, { [`r${rules.indexOf(rule)}`]: value }));
  };

  test.for(tooCostlyThere)("too costly for kube-apiserver: %s", async (rule) => {
    const [theirs, ours] = await post(`${crds}?dryRun=All`, definition("wrongs", withSpec(ruled(rule))));
    expect(theirs?.body.message).toContain("estimated rule cost exceeds budget");
    expect(ours?.status).toBe(201);
  });

  test.for(truths.filter((rule) => rules.includes(rule)))("hold: %s", async (rule) => {
    const { status } = agreed((await judge(rule, {})).map(verdict)) as { status: number };
    expect(status).toBe(201);
  });

  test.for(ruleCases)("hold and fail: $rule", async ({ rule, holds, fails }) => {
    for (const [values, status] of [
      [holds, 201],
      [fails, 422],
    ] as const) {
      for (const value of values) {
        expect(agreed((await judge(rule, value)).map(verdict))).toMatchObject({ status });
      }
    }
  });

  test.for(refused)("refused: %s", async (rule) => {
    const answers = await post(`${crds}?dryRun=All`, definition("wrongs", withSpec(ruled(rule))));
    expect(agreed(answers.map(verdict))).toMatchObject({ status: 422 });
  });

  test.for(brokenSchemas)("refused: $name", async ({ schema }) => {
    const answers = await post(`${crds}?dryRun=All`, definition("wrongs", withSpec(schema)));
    const messages = answers.map(({ status, body }) => ({
      status,
      // Messages of compilers differ.
      causes: body.details?.causes.map(({ message, ...rest }) => ({
        ...rest,
        message: message.replace(/(ompilation failed: ).*/s, "$1"),
      })),
    }));
    expect(agreed(messages)).toMatchObject({ status: 422 });
  });

  describe("with their messages", () => {
    const plural = "movers";
    beforeAll(async () => {
      const properties = Object.fromEntries(transitions.map(({ schema }, at) => [`t${at}`, schema]));
      await serve(plural, { type: "object", properties }, object("Mover", {}));
    });

    test.for(transitions.map((each, at) => ({ ...each, at })))("$name", async ({ at, before, after }) => {
      const path = `/apis/cel.example.com/v1/${plural}`;
      const made = (value: unknown): object => ({
        ...object("Mover", {}),
        metadata: { name: `m${at}` },
        ...(value === undefined ? {} : { [`t${at}`]: value }),
      });
      const created = await post(path, made(before));
      const [theirs, ours] = created.map(({ status, body }) => ({ status, message: body.message }));
      expect(ours).toEqual(theirs);
      if (after === undefined) return;
      const answers = await Promise.all(
        servers.map((server) =>
          ask(server, {
            method: "PATCH",
            path: `${path}/m${at}`,
            body: { [`t${at}`]: after },
            headers: { "content-type": "application/merge-patch+json" },
          }),
        ),
      );
      agreed(answers.map(({ status, body }) => ({ status, message: body.message, details: body.details })));
    });
  });
});
