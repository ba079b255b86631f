import type { Container } from "@agent-sandbox/api";
import { NodeError } from "../errors.ts";

/** Resolves a port number or the name of one of the container's ports. */
export function portNumber(port: number | string, container: Container): number {
  const named = container.ports?.find(({ name }) => name === port)?.containerPort;
  const number = named ?? Number(port);
  if (Number.isInteger(number) && number > 0 && number < 65_536) return number;
  throw new NodeError("RunContainerError", `container "${container.name}" has no port "${port}"`);
}
