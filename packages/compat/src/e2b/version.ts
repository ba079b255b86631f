/**
 * The version of E2B's daemon whose features are served here. Clients choose their requests by it, and refuse calls that an older
 * daemon does not have.
 */
export const envdVersion = "0.6.4";

/** The ports of E2B's daemon and of its code interpreter. */
export const envdPort = 49_983;
export const codePort = 49_999;
