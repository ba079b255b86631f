import type { Container } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { withoutTracing } from "./debug-rights.ts";
import type { Member } from "./members.ts";

const member = (role: Member["role"], add?: readonly string[]): Member => ({
  role,
  container: { name: "look", ...(add && { securityContext: { capabilities: { add } } }) } as Container,
});

test.for([
  ["what kubectl debug asks for", member("ephemeral", ["SYS_PTRACE"]), [], ["SYS_PTRACE"]],
  ["in any spelling, beside others", member("ephemeral", ["cap_sys_ptrace", "KILL"]), ["KILL"], ["cap_sys_ptrace"]],
] as const)("leaves out %s", ([, asking, add, left]) => {
  const given = withoutTracing(asking);
  expect(given.left).toEqual(left);
  expect(given.member.container.securityContext?.capabilities?.add).toEqual(add);
});

test.for([
  ["one that asks for nothing", member("ephemeral")],
  ["one that asks for something else", member("ephemeral", ["NET_RAW"])],
  ["a container of the Pod itself, whose wish is refused", member("main", ["SYS_PTRACE"])],
] as const)("leaves alone %s", ([, asking]) => {
  expect(withoutTracing(asking)).toEqual({ member: asking, left: [] });
});
