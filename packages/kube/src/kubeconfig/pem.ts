import { readFile } from "node:fs/promises";
import { ConfigProblem, type Fields } from "./fields.ts";

/** Reads a PEM from `<field>-data` in base64, or from the file in `<field>`. The data takes precedence, as in kubectl. */
export async function readPem(fields: Fields, field: string): Promise<string | undefined> {
  const dataField = `${field}-data`;
  const data = fields.text(dataField);
  if (data !== undefined) {
    const compact = data.replaceAll(/\s+/g, "");
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact)) throw fields.problem(dataField, "is not valid base64");
    const text = Buffer.from(compact, "base64").toString("utf8");
    if (!isPem(text)) throw fields.problem(dataField, "does not contain a PEM block (-----BEGIN ...)");
    return text;
  }
  const path = fields.path(field);
  if (path === undefined) return undefined;
  const text = await readFile(path, "utf8").catch((error: Error) => {
    throw fields.problem(field, `cannot be read: ${error.message}`);
  });
  if (!isPem(text)) throw fields.problem(field, `does not contain a PEM block (-----BEGIN ...): "${path}"`);
  return text;
}

/** Reads a PEM file that is not in a kubeconfig. */
export async function readPemFile(path: string): Promise<string> {
  const text = await readFile(path, "utf8").catch((error: Error) => {
    throw new ConfigProblem(`Cannot read "${path}": ${error.message}`);
  });
  if (!isPem(text)) throw new ConfigProblem(`Cannot use "${path}": it does not contain a PEM block (-----BEGIN ...)`);
  return text;
}

function isPem(text: string): boolean {
  return text.includes("-----BEGIN ");
}
