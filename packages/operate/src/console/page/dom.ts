/** Creates elements. Untrusted text only becomes text nodes or attribute values, never markup. */

type Child = Node | string | undefined
type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

const fill = <E extends Element>(element: E, attributes: Attributes, children: ReadonlyArray<Child>): E => {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue
    element.setAttribute(name, value === true ? "" : `${value}`)
  }
  element.append(...children.filter((child) => child !== undefined))
  return element
}

export const h = <K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: ReadonlyArray<Child>
): HTMLElementTagNameMap[K] => fill(document.createElement(tag), attributes, children)

export const s = <K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: ReadonlyArray<Child>
): SVGElementTagNameMap[K] => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children)

/** Returns the element with this id, which must exist in the page. */
export const byId = <E extends Element>(id: string, type: new () => E): E => {
  const found = document.getElementById(id)
  if (!(found instanceof type)) throw new Error(`The page has no ${type.name} with the id ${id}`)
  return found
}

/** Sets text only if it differs, so that selections and screen readers are not disturbed. */
export const setText = (element: Element, text: string): void => {
  if (element.textContent !== text) element.textContent = text
}
