import { readFile } from "node:fs/promises";
import { ConfigProblem, type Fields } from "./fields.ts";

/** A PEM from `<field>-data` in base64, or from the file that `<field>` names. The data wins, as in kubectl. */
export async function readPem(fields: Fields, field: string): Promise<string | undefined> {
  const dataField = `${field}-data`;
  const data = fields.text(dataField);
  if (data !== undefined) {
    const compact = data.replaceAll(/\s+/g, "");
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact)) throw fields.problem(dataField, "is no base64");
    const text = Buffer.from(compact, "base64").toString("utf8");
    if (!isPem(text)) throw fields.problem(dataField, "holds no PEM (-----BEGIN ...)");
    return text;
  }
  const path = fields.path(field);
  if (path === undefined) return undefined;
  const text = await readFile(path, "utf8").catch((error: Error) => {
    throw fields.problem(field, `cannot be read: ${error.message}`);
  });
  if (!isPem(text)) throw fields.problem(field, `holds no PEM (-----BEGIN ...): "${path}"`);
  return text;
}

/** The same for a file that no kubeconfig names. */
export async function readPemFile(path: string): Promise<string> {
  const text = await readFile(path, "utf8").catch((error: Error) => {
    throw new ConfigProblem(`Cannot read "${path}": ${error.message}`);
  });
  if (!isPem(text)) throw new ConfigProblem(`Cannot use "${path}": it holds no PEM (-----BEGIN ...)`);
  return text;
}

function isPem(text: string): boolean {
  return text.includes("-----BEGIN ");
}
