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
  ["root when nobody says otherwise", undefined, {}, {}, { uid: 0, gid: 0, groups: [] }],
  ["the image's user, with the groups it has there", "web", {}, {}, { uid: 33, gid: 34, groups: [90] }],
  ["the image's user by number", "33", {}, {}, { uid: 33, gid: 34, groups: [90] }],
  ["the image's group", "web:logs", {}, {}, { uid: 33, gid: 90, groups: [] }],
  ["a number the image does not know", "7:8", {}, {}, { uid: 7, gid: 8, groups: [] }],
  ["the Pod's user before the image's", "web", { runAsUser: 5 }, {}, { uid: 5, gid: 0, groups: [] }],
  [
    "the container's before the Pod's",
    undefined,
    { runAsUser: 5, runAsGroup: 6 },
    { runAsUser: 7 },
    { uid: 7, gid: 6, groups: [] },
  ],
  [
    "further groups and the volumes' group",
    undefined,
    { supplementalGroups: [1, 2], fsGroup: 3 },
    {},
    { uid: 0, gid: 0, groups: [1, 2, 3] },
  ],
  ["runAsNonRoot is content with another user", "web", { runAsNonRoot: true }, {}, { uid: 33, gid: 34, groups: [90] }],
] as const)("%s", ([, image, shared, own, user]) => {
  expect(of(image, shared as Security, own)).toEqual(user);
});

test.for([
  ["root where it is forbidden", undefined, { runAsNonRoot: true }, "image will run as root"],
  ["a user the image has not", "nobody", {}, 'Cannot run as user "nobody"'],
  ["an id that is no number, which a runtime would take for root", "odd", { runAsNonRoot: true }, "it is not an id"],
  ["an id beyond what the kernel has", "huge", { runAsNonRoot: true }, "it is not an id"],
  ["an account without an id", "blank", {}, "it is not an id"],
  ["a number beyond what the kernel has", "4294967296", {}, "it is not an id"],
  ["a group the image has not", "web:nobody", {}, 'Cannot run as group "nobody"'],
] as const)("refuses %s", ([, image, shared, message]) => {
  expect(() => of(image, shared)).toThrow(message);
});
