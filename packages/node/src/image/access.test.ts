import { describe, expect, test } from "vitest";
import { accessKey, anyone, loginsFor, mayUse } from "./access.ts";
import type { StoredImage } from "./image-index.ts";

const login = { auth: "c29tZW9uZTpzZWNyZXQ=" };
const reference = { registry: "registry.example", repository: "team/app", tag: "v1" };

describe("loginsFor()", () => {
  test.for([
    ["registry.example", true],
    ["https://registry.example/v2/", true],
    ["registry.example/team", true],
    ["registry.example:5000", false],
    ["evil.example", false],
    ["evil.example/registry.example", false],
    ["registry.example.evil", false],
  ] as const)("a login for %s is sent to the registry: %s", ([name, isShown]) => {
    expect(Object.keys(loginsFor(reference, { [name]: login }))).toEqual(isShown ? [name] : []);
  });

  test("finds logins for docker.io by all its names, and logins for mirrors", () => {
    const docker = { registry: "docker.io", repository: "library/debian" };
    const all = { "https://index.docker.io/v1/": login, "mirror:5000": login, other: login };
    expect(Object.keys(loginsFor(docker, all))).toEqual(["https://index.docker.io/v1/"]);
    const settings = [{ name: "docker.io", mirrors: ["mirror:5000"] }];
    expect(Object.keys(loginsFor(docker, all, settings))).toEqual(["https://index.docker.io/v1/", "mirror:5000"]);
  });
});

describe("mayUse()", () => {
  const image = (more: Partial<StoredImage>): StoredImage => ({ digests: ["r@sha256:x"], ...more }) as StoredImage;
  const own = accessKey({ "registry.example": login });

  test("an image that was pulled without a login is public", () => {
    expect(accessKey({})).toBe(anyone);
  });

  test("the access key depends on the login and not on the order of its fields", () => {
    const one = { a: { username: "u", password: "p" }, b: login };
    const same = { b: login, a: { password: "p", username: "u" } };
    expect(accessKey(one)).toBe(accessKey(same));
    expect(accessKey(one)).not.toBe(accessKey({ a: { username: "u", password: "q" }, b: login }));
    expect(own).not.toContain(login.auth);
  });

  test.for([
    ["a public image, by anyone", { access: [anyone] }, anyone, true],
    ["a private image, without a login", { access: [own] }, anyone, false],
    ["a private image, with the same login", { access: [own] }, own, true],
    ["a private image, with another login", { access: [own] }, "another", false],
    ["an image pulled before access was recorded", {}, own, false],
    ["an archive loaded before access was recorded", { digests: [] }, anyone, true],
  ] as const)("%s", ([, more, key, expected]) => {
    expect(mayUse(image(more), key)).toBe(expected);
  });
});
