/** What tenants and sandboxes may write wherever a text is free. Each text contains `visibleMarkup`, which a good page shows as it is. */

export const visibleMarkup = "<img src=x onerror=";

const setsFlag = "window.__pwned=1";
const markup = `${visibleMarkup}${setsFlag}><script>${setsFlag}</script><svg onload=${setsFlag}></svg><iframe srcdoc="<script>top.__pwned=1</script>"></iframe>`;
const links = `<a href="javascript:${setsFlag}">x</a> [x](javascript:${setsFlag}) http://evil.example/?a={{constructor.constructor('${setsFlag}')()}}`;
const style = `</style></title></textarea></script><style>*{display:none;background:url(http://evil.example/)}</style><base href="http://evil.example/"><meta http-equiv="refresh" content="0;url=http://evil.example/">`;
/** Overrides, isolates, marks, zero-width characters, tags, a lone surrogate, line separators and C0 and C1 controls. */
const invisible =
  "\u202eright to left\u2066\u2069\u200f\u061c\u200b\ufeff\u{e0041}\u2028\u2029\u0000\u0007\u0008\u001b\u007f\u009b\r\n\t\ud800";

/** For fields of the API. They are in JSON, so any character is possible. */
export const hostileText = `${markup} ${links} ${style} ${invisible}`;

/** Without characters that end a line, for fields that name something. */
export const hostileLine = `${markup} ${links} \u202eexe.fdp\u2066`;

/** A word without a place to break the line. */
export const longWord: string = "W".repeat(5000);

const escape = "\u001b";

/** What a program prints to take over a terminal: titles, links, the clipboard, reports that the terminal types back, modes. */
export const escapes: string = [
  `${escape}]0;${visibleMarkup}title>\u0007`,
  `${escape}]2;http://evil.example/${escape}\\`,
  `${escape}]8;;javascript:${setsFlag}${escape}\\link${escape}]8;;${escape}\\`,
  `${escape}]8;;http://evil.example/${escape}\\link${escape}]8;;${escape}\\`,
  `${escape}]52;c;${Buffer.from("rm -rf /").toString("base64")}\u0007`,
  `${escape}]1337;File=inline=1:${Buffer.from("<svg onload=alert(1)>").toString("base64")}\u0007`,
  `${escape}[21t${escape}[6n${escape}[c${escape}P$q"p${escape}\\${escape}[?1049h${escape}[?25l${escape}[?1003h${escape}[99999;99999H`,
  `${escape}[2J${escape}[3J${escape}c`,
  `${escape}[31m${hostileLine}${escape}[0m`,
].join("\n");

/** A JSON text is also a text of Python, but for lone surrogates, which are replaced. */
export function asPython(text: string): string {
  return JSON.stringify(text.toWellFormed());
}
