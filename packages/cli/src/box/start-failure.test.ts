import { StoreError } from "@agent-sandbox/apiserver";
import { expect, test } from "vitest";
import { boxPaths } from "./box-paths.ts";
import { explainFailedStart } from "./start-failure.ts";

const start = {
  paths: boxPaths("/srv/box"),
  addresses: { api: { port: 7643 }, router: { port: 7680 }, dashboard: { port: 7681 }, compat: { port: 7682 } },
  findHolder: (port: number) => (port === 7643 ? "process 8 (nginx)" : undefined),
};

const systemError = (code: string, errno: number, more: object): Error =>
  Object.assign(new Error(code), { code, errno, syscall: "listen", ...more });
const inUse = (port: number): Error => systemError("EADDRINUSE", -98, { address: "127.0.0.1", port });

test.for([
  [
    inUse(7643),
    'Cannot listen on "127.0.0.1:7643": address already in use by process 8 (nginx); end that program, or choose another port with --listen ADDRESS:PORT',
  ],
  [
    inUse(7680),
    'Cannot listen on "127.0.0.1:7680": address already in use; end that program, or choose another port with --router-listen ADDRESS:PORT',
  ],
  [
    systemError("EADDRNOTAVAIL", -99, { address: "10.0.0.9", port: 7680 }),
    'Cannot listen on "10.0.0.9:7680": address not available: this machine does not have the address; choose another one with --router-listen ADDRESS:PORT',
  ],
  [
    new StoreError("damaged", 'Cannot read store "/srv/box/store.db": it is not a database'),
    'Cannot read store "/srv/box/store.db": it is not a database; restore a backup with "agent-sandbox --data-dir /srv/box restore FILE", where FILE was made by "agent-sandbox backup"',
  ],
  [
    new StoreError("otherVersion", "Cannot read store: its format is 2, this program reads 1"),
    "Cannot read store: its format is 2, this program reads 1; start the box with the version of agent-sandbox that wrote it",
  ],
  [
    Object.assign(new Error("ENOSPC"), { code: "ENOSPC", errno: -28, syscall: "write" }),
    'Cannot write: no space left on device; free some space on the disk of "/srv/box", or choose another --data-dir',
  ],
  [
    new Error("Cannot save the object: database or disk is full"),
    'Cannot save the object: database or disk is full; free some space on the disk of "/srv/box", or choose another --data-dir',
  ],
] as const)("says what to do: %s", ([error, expected]) => {
  expect(explainFailedStart(error, start)?.message).toBe(expected);
});

test("an error without advice is left as it is", () => {
  expect(explainFailedStart(new TypeError("x is not a function"), start)).toBeUndefined();
});
