import type { Container, Pod } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { userOf } from "./user.ts";

const accounts = {
  passwd:
    "root:x:0:0:root:/root:/bin/sh\nweb:x:33:34::/:/bin/sh\nbroken line\nodd:x:abc:0::/:\nhuge:x:4294967296:0::/:\nblank:x::0::/:\n",
  group: "root:x:0:\nweb:x:34:\nlogs:x:90:web,other\n",
};
type Security = NonNullable<NonNullable<Pod["spec"]>["securityContext"]>;

function of(image: string | undefined, shared: Security = {}, own: Container["securityContext"] = {}): object {
  const container: Container = { name: "main", securityContext: own };
  return userOf({ spec: { containers: [container], securityContext: shared } }, container, image, accounts);
}

test.for([
  ["root by default", undefined, {}, {}, { uid: 0, gid: 0, groups: [] }],
  ["the image's user with its groups", "web", {}, {}, { uid: 33, gid: 34, groups: [90] }],
  ["the image's user by number", "33", {}, {}, { uid: 33, gid: 34, groups: [90] }],
  ["the image's group", "web:logs", {}, {}, { uid: 33, gid: 90, groups: [] }],
  ["ids that the image has no account for", "7:8", {}, {}, { uid: 7, gid: 8, groups: [] }],
  ["the Pod's user overrides the image's", "web", { runAsUser: 5 }, {}, { uid: 5, gid: 0, groups: [] }],
  [
    "the container's user overrides the Pod's",
    undefined,
    { runAsUser: 5, runAsGroup: 6 },
    { runAsUser: 7 },
    { uid: 7, gid: 6, groups: [] },
  ],
  [
    "supplementalGroups and fsGroup",
    undefined,
    { supplementalGroups: [1, 2], fsGroup: 3 },
    {},
    { uid: 0, gid: 0, groups: [1, 2, 3] },
  ],
  ["runAsNonRoot accepts another user", "web", { runAsNonRoot: true }, {}, { uid: 33, gid: 34, groups: [90] }],
] as const)("%s", ([, image, shared, own, user]) => {
  expect(of(image, shared as Security, own)).toEqual(user);
});

test.for([
  ["root with runAsNonRoot", undefined, { runAsNonRoot: true }, "image will run as root"],
  ["an unknown user name", "nobody", {}, 'Cannot run as user "nobody"'],
  ["an id that is not a number", "odd", { runAsNonRoot: true }, "it is not an id"],
  ["an account with an id out of range", "huge", { runAsNonRoot: true }, "it is not an id"],
  ["an account without an id", "blank", {}, "it is not an id"],
  ["an id out of range", "4294967296", {}, "it is not an id"],
  ["an unknown group name", "web:nobody", {}, 'Cannot run as group "nobody"'],
] as const)("refuses %s", ([, image, shared, message]) => {
  expect(() => of(image, shared)).toThrow(message);
});
