/** The size of the benchmark, shared by the server and by the checks that everything arrived. */
export const podCount = 10_000;
/** Five updates of each Pod. */
export const eventCount = 50_000;
