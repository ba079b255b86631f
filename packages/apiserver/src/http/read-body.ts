import type { IncomingMessage } from "node:http";
import { ApiError, badRequest } from "../api-error.ts";
import { bodyError, parsedProblem } from "../json.ts";
import { duplicateFields } from "./duplicate-fields.ts";

export const maxBodyBytes: number = 3 * 1024 * 1024;

/** Bounds the memory of the parser. The limit is far above the size of any stored object. */
const tooLarge = (): ApiError =>
  new ApiError("RequestEntityTooLarge", `Request entity is too large: limit is ${maxBodyBytes} bytes`);

export interface RequestBody {
  /** `undefined` when there is no body or it cannot be parsed. */
  readonly body: unknown;
  /** See `ApiRequest.bodyProblem`. */
  readonly bodyProblem?: ApiError;
  /** See `ApiRequest.duplicateFields`. */
  readonly duplicateFields?: readonly string[];
}

/** Reads and parses the body of a request. Awaits `turn`, if given, before parsing. */
export async function readBody(
  request: IncomingMessage,
  turn: () => Promise<void> | undefined = () => undefined,
): Promise<RequestBody> {
  try {
    const bytes = await readBytes(request);
    await turn();
    if (bytes.length === 0) return { body: undefined };
    const format = formatOf(request.headers["content-type"]);
    if (format === "protobuf") return { body: await parseProtobuf(bytes) };
    const text = decodeText(bytes);
    if (format === "json") {
      const body = parseJson(text);
      return strict.test(request.url ?? "") ? { body, duplicateFields: duplicateFields(text) } : { body };
    }
    return { body: await parseYamlOrJson(text) };
  } catch (error) {
    if (error instanceof ApiError) return { body: undefined, bodyProblem: error };
    throw error;
  }
}

/** Duplicates are searched only for requests with strict validation, because it takes time. */
const strict = /[?&]fieldValidation=Strict(?:&|$)/;

/** Uses events, because async iteration over the request costs more than the rest of reading it. */
function readBytes(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(request.headers["content-length"] ?? 0) > maxBodyBytes) return reject(tooLarge());
    const chunks: Buffer[] = [];
    let length = 0;
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBodyBytes) return void chunks.push(chunk);
      chunks.length = 0;
      reject(tooLarge());
    });
    request.once("end", () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    request.once("close", () => {
      if (!request.complete) reject(badRequest("Cannot read the body: the connection ended before its end"));
    });
    request.once("error", reject);
  });
}

type Format = "json" | "yaml" | "protobuf";

const formats: ReadonlyMap<string, Format> = new Map<string, Format>([
  ["application/json", "json"],
  ["application/merge-patch+json", "json"],
  ["application/json-patch+json", "json"],
  ["application/strategic-merge-patch+json", "json"],
  ["application/yaml", "yaml"],
  ["application/apply-patch+yaml", "yaml"],
  ["application/vnd.kubernetes.protobuf", "protobuf"],
]);

function formatOf(contentType: string | undefined): Format {
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? "application/json";
  const format = formats.get(type);
  if (format !== undefined) return format;
  throw new ApiError(
    "UnsupportedMediaType",
    `the body of the request was in an unsupported format "${type}" - accepted media types include: ${[...formats.keys()].join(", ")}`,
  );
}

const decoder = new TextDecoder("utf-8", { fatal: true });

function decodeText(bytes: Buffer): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw badRequest("Cannot read the body: it is not UTF-8");
  }
}

async function parseProtobuf(bytes: Buffer): Promise<unknown> {
  const { decodeProtobuf } = await import("../protobuf/decode.ts");
  const decoded = decodeProtobuf(bytes);
  if ("value" in decoded) {
    const problem = parsedProblem(decoded.value);
    if (problem !== undefined) throw bodyError(problem);
    return decoded.value;
  }
  const message = `Cannot read the body: ${decoded.problem}`;
  throw decoded.unknownKind === true ? new ApiError("UnsupportedMediaType", message) : badRequest(message);
}

/** JSON is valid YAML, and most bodies sent as YAML are JSON, for example those of kubectl apply. */
async function parseYamlOrJson(text: string): Promise<unknown> {
  if (text.startsWith("{")) {
    try {
      return checked(JSON.parse(text));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  const { parseYaml } = await import("./yaml.ts");
  return parseYaml(text);
}

function parseJson(text: string): unknown {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw badRequest(`Cannot read the body: ${error instanceof Error ? error.message : "it is not JSON"}`);
  }
  return checked(parsed);
}

function checked(parsed: unknown): unknown {
  const problem = parsedProblem(parsed);
  if (problem !== undefined) throw bodyError(problem);
  return parsed;
}
