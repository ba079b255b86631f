import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

/** The connection of a client: a TCP or TLS socket, or a connection within the process. */
export type ClientSocket = Duplex & Pick<Socket, "destroySoon">;
