/**
 * xterm.js makes style elements without the nonce of the page, and writes colours of cells with `setAttribute("style")`. The policy of the
 * page refuses both, so this adds the nonce, and sets those styles as properties, which the policy allows.
 */
let isDone = false;

export function fitPagePolicy(): void {
  if (isDone) return;
  isDone = true;
  const nonce = document.querySelector<HTMLMetaElement>("meta[name=nonce]")?.content ?? "";
  const create = document.createElement.bind(document);
  document.createElement = (name: string, options?: ElementCreationOptions) => {
    const element = create(name, options);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  };
  HTMLSpanElement.prototype.setAttribute = function set(this: HTMLSpanElement, name: string, value: string): void {
    if (name === "style") this.style.cssText = value;
    else Element.prototype.setAttribute.call(this, name, value);
  };
}
