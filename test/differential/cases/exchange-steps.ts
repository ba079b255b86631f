import type { ExchangeStep } from "../case.ts";

export const asTable: Record<string, string> = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };

export const get = (path: string, headers: Record<string, string> = {}): ExchangeStep => ({
  method: "GET",
  path,
  headers,
});

export const post = (path: string, body: object): ExchangeStep => ({ method: "POST", path, body });

export const merge = (path: string, body: object): ExchangeStep => ({
  method: "PATCH",
  path,
  headers: { "content-type": "application/merge-patch+json" },
  body,
});
