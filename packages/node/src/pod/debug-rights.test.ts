import type { Container } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { withoutTracing } from "./debug-rights.ts";
import type { Member } from "./members.ts";

const member = (role: Member["role"], add?: readonly string[]): Member => ({
  role,
  container: { name: "look", ...(add && { securityContext: { capabilities: { add } } }) } as Container,
});

test.for([
  ["the capability that kubectl debug requests", member("ephemeral", ["SYS_PTRACE"]), [], ["SYS_PTRACE"]],
  [
    "any spelling of it, among other capabilities",
    member("ephemeral", ["cap_sys_ptrace", "KILL"]),
    ["KILL"],
    ["cap_sys_ptrace"],
  ],
] as const)("leaves out %s", ([, asking, add, left]) => {
  const given = withoutTracing(asking);
  expect(given.left).toEqual(left);
  expect(given.member.container.securityContext?.capabilities?.add).toEqual(add);
});

test.for([
  ["an ephemeral container that requests no capability", member("ephemeral")],
  ["an ephemeral container that requests another capability", member("ephemeral", ["NET_RAW"])],
  ["a main container, which is refused instead", member("main", ["SYS_PTRACE"])],
] as const)("leaves alone %s", ([, asking]) => {
  expect(withoutTracing(asking)).toEqual({ member: asking, left: [] });
});
