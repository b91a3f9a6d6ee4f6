// Short ways to the elements of index.html. Texts are only ever set as text, so nothing from a peer becomes markup.

/** The element with this id. @throws Error if index.html and the program do not fit together, a defect of ours */
export function byId<T extends Element>(id: string, kind: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) {
    throw new Error(`the page has no ${kind.name} "${id}"`);
  }
  return found;
}

/** Sets a text, and leaves the page alone if it is there already: a live region would read it again. */
export function say(at: Element, text: string): void {
  if (at.textContent !== text) {
    at.textContent = text;
  }
}

/** A new element with a text. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K, text = "", className = "",
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  made.textContent = text;
  if (className !== "") {
    made.className = className;
  }
  return made;
}

/** A new element of SVG with these attributes. */
export function svgElement<K extends keyof SVGElementTagNameMap>(
  name: K, attributes: Readonly<Record<string, string | number>>, text = "",
): SVGElementTagNameMap[K] {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, String(value));
  }
  made.textContent = text;
  return made;
}

/** One line of a list of names and values. */
export interface Line {
  readonly name: string;
  readonly value: string;
  /** `bad` or `code`. */
  readonly look?: string;
}

/** Shows these lines in a `dl`, and leaves it alone where nothing changed, so that a marked text stays marked. */
export function showLines(list: HTMLDListElement, lines: readonly Line[]): void {
  const cells = lines.flatMap(({ name, value, look }) => [{ tag: "dt", text: name, look: "" } as const,
    { tag: "dd", text: value, look: look ?? "" } as const]);
  while (list.children.length > cells.length) {
    list.lastElementChild?.remove();
  }
  cells.forEach(({ tag, text, look }, at) => {
    const cell = list.children[at] ?? list.appendChild(document.createElement(tag));
    say(cell, text);
    if (cell.className !== look) {
      cell.className = look;
    }
  });
}

/** Fills a `select`. */
export function fillSelect(select: HTMLSelectElement, choices: readonly (readonly [value: string, text: string])[]):
void {
  select.replaceChildren(...choices.map(([value, text]) => new Option(text, value)));
}
