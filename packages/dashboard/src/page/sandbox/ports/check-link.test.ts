import { expect, test } from "vitest";
import { checkLink } from "./check-link.ts";

const target = { namespace: "default", name: "demo", port: 8000 };
const good = "http://8000-demo.default.localhost:7680/.agent-sandbox/login?code=abc";
const page = "dashboard.agent-sandbox-system.localhost";

test("accepts the login page of the port", () => {
  expect(checkLink(good, target, page)).toBe(good);
  const remote = good.replace("localhost:7680", "sandboxes.example.com").replace("http:", "https:");
  expect(checkLink(remote, target, "dashboard.example.com")).toBe(remote);
});

test.for<unknown>([
  "javascript:alert(1)//8000-demo.default.localhost/.agent-sandbox/login",
  "data:text/html,<script>1</script>",
  good.replace("8000-", "8001-"),
  good.replace("demo", "other"),
  good.replace("8000-demo.default.", ""),
  good.replace("8000-demo", "evil.example/8000-demo"),
  good.replace("//", "//user:password@"),
  good.replace("/.agent-sandbox/login", "/"),
  good.replace("localhost:7680", "evil.example"),
  `http://${page}/logout`,
  "",
  undefined,
  { href: good },
])("refuses %s", (link) => {
  expect(() => checkLink(link, target, page)).toThrow(/^The router/);
});
