import { expect, test } from "vitest";
import { loginsFrom } from "./credentials.ts";

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64");
const login = (auth: string): { auth: string } => ({ auth });

test("logins of both kinds of Secrets, the first for a registry", () => {
  expect(
    loginsFrom([
      {
        type: "kubernetes.io/dockerconfigjson",
        data: { ".dockerconfigjson": encoded({ auths: { one: login("a"), two: login("b") } }) },
      },
      { type: "kubernetes.io/dockercfg", data: { ".dockercfg": encoded({ two: login("c"), three: login("d") }) } },
    ]),
  ).toEqual({ one: login("a"), two: login("b"), three: login("d") });
});

test.for([
  ["another type", { type: "Opaque", data: { ".dockerconfigjson": encoded({ auths: { one: login("a") } }) } }],
  ["a type that is a word of the language", { type: "constructor", data: {} }],
  ["no data", { type: "kubernetes.io/dockerconfigjson" }],
  ["no JSON", { type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": "e30x" } }],
  ["logins that are none", { type: "kubernetes.io/dockercfg", data: { ".dockercfg": encoded({ one: 1, two: null }) } }],
] as const)("%s gives none", ([, secret]) => {
  expect(loginsFrom([secret])).toEqual({});
});
