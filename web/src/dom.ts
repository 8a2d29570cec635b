// Elements from values. Children are nodes or text; nothing here reads a string as markup.

export type Child = Node | string | number | null | undefined | false;
export type Attributes = { [name: string]: string | number | boolean | undefined };

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : String(value));
  for (const child of children)
    if (child !== null && child !== undefined && child !== false)
      element.append(typeof child === 'number' ? String(child) : child);
}

export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag, attributes: Attributes = {}, ...children: Child[]
): SVGElementTagNameMap[Tag] {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  fill(element, attributes, children);
  return element;
}

// The policy of the page forbids style attributes; the style of an element may be set by script.
export function styled<E extends HTMLElement | SVGElement>(element: E, style: { [property: string]: string }): E {
  for (const [property, value] of Object.entries(style)) element.style.setProperty(property, value);
  return element;
}

export function on<E extends EventTarget>(target: E, event: string, run: (event: Event) => void): E {
  target.addEventListener(event, run);
  return target;
}

export function button(label: string, run: () => void, attributes: Attributes = {}): HTMLButtonElement {
  return on(el('button', { type: 'button', ...attributes }, label), 'click', run);
}

let lastId = 0;
export const freshId = (stem: string): string => `${stem}-${++lastId}`;

export function section(name: string, heading: string, ...children: Child[]): HTMLElement {
  const id = freshId(name);
  return el('section', { class: `section ${name}`, 'aria-labelledby': id }, el('h2', { id }, heading), ...children);
}

// Redraws what depends on its width, at once and whenever that changes.
export function drawnToWidth<E extends HTMLElement>(holder: E, draw: (width: number) => Child): E {
  let last = 0;
  new ResizeObserver(() => {
    const width = Math.floor(holder.clientWidth);
    if (width === last || width === 0) return;
    last = width;
    const drawn = draw(width);
    holder.replaceChildren(...(drawn instanceof Node ? [drawn] : []));
  }).observe(holder);
  return holder;
}
