import { expect, test } from "vitest";
import { loginsFrom } from "./credentials.ts";

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64");
const login = (auth: string): { auth: string } => ({ auth });

test("reads logins from both types of Secrets, and the first one for a registry wins", () => {
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
  ["a type that is a property of every object", { type: "constructor", data: {} }],
  ["no data", { type: "kubernetes.io/dockerconfigjson" }],
  ["invalid JSON", { type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": "e30x" } }],
  [
    "logins that are not objects",
    { type: "kubernetes.io/dockercfg", data: { ".dockercfg": encoded({ one: 1, two: null }) } },
  ],
] as const)("a Secret with %s has no logins", ([, secret]) => {
  expect(loginsFrom([secret])).toEqual({});
});
