export interface ListenAddress {
  /** Absent for every address of the machine. */
  readonly host?: string;
  /** 0 for any free port. */
  readonly port: number;
}

/** Parses `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` or `:8080`. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]*)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65_535) return undefined;
  const host = bracketed ?? plain ?? "";
  return host === "" ? { port } : { host, port };
}
