/** Headers that are between two neighbours alone (RFC 9110, 7.6.1), whichever way they go. */
export const hopByHop: readonly string[] = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
];
