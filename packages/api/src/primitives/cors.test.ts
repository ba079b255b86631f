import { expect, test } from "vitest";
import { Cors, originProblem } from "./cors.ts";

const rules = { methods: ["GET", "PUT"], requestHeaders: ["authorization"], responseHeaders: ["x-reason"] };
const cors = new Cors(["https://app.example", "http://localhost:5173"], rules);
const own = [
  "access-control-allow-origin",
  "https://app.example",
  "vary",
  "Origin",
  "access-control-expose-headers",
  "x-reason",
];

test("a page of an allowed origin may read responses, without credentials of the browser", () => {
  expect(cors.headersFor("https://app.example")).toEqual(own);
});

test.for([
  undefined,
  "",
  "null",
  "*",
  "https://app.example.evil.test",
  "https://evil-app.example",
  "https://sub.app.example",
  "http://app.example",
  "https://app.example:8443",
  "https://APP.example",
  "https://app.example/",
  "http://localhost:51730",
  "http://localhost",
])("a page of %j may not", (origin) => {
  expect(cors.headersFor(origin)).toBeUndefined();
  expect(cors.preflight({ method: "OPTIONS", origin, requestedMethod: "GET" })).toBeUndefined();
});

test("a preflight request is answered with what is allowed, whatever it asks for", () => {
  const origin = "https://app.example";
  expect(cors.preflight({ method: "OPTIONS", origin, requestedMethod: "PATCH" })).toEqual([
    ...own,
    "access-control-allow-methods",
    "GET, PUT",
    "access-control-allow-headers",
    "authorization",
    "access-control-max-age",
    "600",
  ]);
  expect(cors.preflight({ method: "OPTIONS", origin, requestedMethod: undefined })).toBeUndefined();
  expect(cors.preflight({ method: "GET", origin, requestedMethod: "GET" })).toBeUndefined();
});

test.for(["https://app.example", "http://localhost:5173", "http://[::1]:8080", "https://xn--bcher-kva.example"])(
  "%j can be allowed",
  (origin) => {
    expect(originProblem(origin, ["localhost"])).toBeUndefined();
  },
);

test.for([
  "",
  "*",
  "null",
  "app.example",
  "https://*.example",
  "https://app.example/",
  "https://app.example/path",
  "https://app.example:443",
  "https://user@app.example",
  "HTTPS://app.example",
  "https://bücher.example",
  "file:///tmp",
  "chrome-extension://abcdef",
  "javascript:alert(1)",
  " https://app.example",
  "https://a.example,https://b.example",
])("%j cannot be allowed", (origin) => {
  expect(originProblem(origin, ["localhost"])).toContain("is not an origin");
});

test.for(["http://8000-web.team.localhost:7680", "http://web.localhost", "https://x.y.sandboxes.example"])(
  "pages of sandboxes cannot be allowed: %s",
  (origin) => {
    expect(originProblem(origin, ["localhost", "sandboxes.example"])).toContain("the domain of sandboxes");
  },
);
