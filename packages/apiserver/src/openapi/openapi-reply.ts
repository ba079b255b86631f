import { createHash } from "node:crypto";
import { ApiError, pathNotFound } from "../api-error.ts";
import type { ApiRequest, TextReply } from "../request/api-request.ts";
import type { Registry } from "../resources/registry.ts";
import { protoOfV2 } from "./document-proto.ts";
import { documentV2, jsonOfV2 } from "./document-v2.ts";
import { documentV3 } from "./document-v3.ts";

interface Written {
  readonly content: string | Uint8Array;
  readonly hash: string;
}

const v2Proto = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/** Clients ask for an invalid media type (with `@`) and expect a valid one in the response. */
const askedV2Proto = /proto-openapi\.spec\.v2[@.]v1\.0\+protobuf/;

/** The documents of one generation of the registry, each written when it is first requested. */
class Documents {
  readonly #registry: Registry;
  readonly #written = new Map<string, Written>();

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** Each group version has a document at a URL that contains a hash of its content. */
  index(): Written {
    return this.#once("index", () => {
      const apiVersions = [...new Set(this.#registry.served().map(({ version }) => version.apiVersion))].sort();
      const entries = apiVersions.map((apiVersion) => {
        const path = apiVersion.includes("/") ? `apis/${apiVersion}` : `api/${apiVersion}`;
        const { hash } = this.v3(apiVersion) as Written;
        return [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }] as const;
      });
      return JSON.stringify({ paths: Object.fromEntries(entries) });
    });
  }

  v3(apiVersion: string): Written | undefined {
    const resources = this.#registry.under(apiVersion);
    if (resources.length === 0) return undefined;
    return this.#once(`v3 ${apiVersion}`, () => JSON.stringify(documentV3(resources)));
  }

  v2(form: "json" | "proto"): Written {
    return this.#once(`v2 ${form}`, () => {
      const document = documentV2(this.#registry.served());
      return form === "json" ? JSON.stringify(jsonOfV2(document)) : protoOfV2(document);
    });
  }

  #once(name: string, write: () => string | Uint8Array): Written {
    let written = this.#written.get(name);
    if (written === undefined) {
      const content = write();
      written = { content, hash: createHash("sha512").update(content).digest("hex").slice(0, 64).toUpperCase() };
      this.#written.set(name, written);
    }
    return written;
  }
}

/** The documents change only when CustomResourceDefinitions change. */
const current = new WeakMap<Registry, { generation: number; documents: Documents }>();

function documentsOf(registry: Registry): Documents {
  const known = current.get(registry);
  if (known?.generation === registry.generation) return known.documents;
  const documents = new Documents(registry);
  current.set(registry, { generation: registry.generation, documents });
  return documents;
}

/** Answers `/openapi/...`. */
export function openApiReply(registry: Registry, path: string, request: ApiRequest): TextReply {
  const documents = documentsOf(registry);
  const accept = request.headers["accept"] ?? "";
  if (path === "/openapi/v2") {
    const proto = askedV2Proto.test(accept);
    return reply(documents.v2(proto ? "proto" : "json"), request, proto ? v2Proto : "application/json");
  }
  if (/protobuf/.test(accept) && !/json|\*\/\*/.test(accept)) {
    throw new ApiError("NotAcceptable", "only the following media types are accepted: application/json");
  }
  if (path === "/openapi/v3") return reply(documents.index(), request, "application/json");
  const [, apiVersion] = /^\/openapi\/v3\/apis?\/(.+)$/.exec(path) ?? [];
  const written = apiVersion === undefined ? undefined : documents.v3(apiVersion);
  if (written === undefined) throw pathNotFound();
  return reply(written, request, "application/json");
}

function reply({ content, hash }: Written, { headers, url }: ApiRequest, type: string): TextReply {
  const tag = `"${hash}"`;
  const asked = new URLSearchParams(url.split("?", 2)[1] ?? "").get("hash");
  // The content at a URL with a hash never changes, so clients may cache it without limit.
  const caching = asked === hash ? { "cache-control": "public, immutable" } : {};
  const answer = { etag: tag, vary: "Accept", "content-type": type, ...caching };
  if (headers["if-none-match"] === tag) return { kind: "text", status: 304, headers: answer, text: "" };
  return { kind: "text", status: 200, headers: answer, text: content };
}
