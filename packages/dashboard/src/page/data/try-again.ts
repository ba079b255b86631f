/**
 * Browsers drop the requests that are under way when a network interface appears, and on the machine of a box every sandbox that starts
 * has one. Repeats what only reads, if no response arrived.
 */
export async function tryAgain<T>(read: () => Promise<T>, pauseMs: number = firstPauseMs): Promise<T> {
  try {
    return await read();
  } catch (error) {
    // `fetch` and `import` reject with this type if there was no response.
    if (!(error instanceof TypeError) || pauseMs > longestPauseMs) throw error;
  }
  await new Promise((resolve) => setTimeout(resolve, pauseMs));
  return tryAgain(read, pauseMs * 3);
}

// Three repetitions within about a second: a box that is stopped is reported soon.
const firstPauseMs = 80;
const longestPauseMs = 720;
