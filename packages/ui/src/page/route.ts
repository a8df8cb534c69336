/** The view that the address names, after its `#`. */
import { signal } from "@preact/signals"

const views = [
  "answers",
  "findings",
  "history",
  "logs",
  "menu",
  "overview",
  "prompt",
  "resource",
  "run",
  "tasks",
  "template",
  "tool",
  "wire"
] as const

/** Kinds of views. */
export type ViewName = (typeof views)[number]

/** A view, the item that it shows, and the arguments that its form starts with. */
export interface Address {
  readonly view: ViewName
  readonly item: string
  readonly args: { readonly [name: string]: unknown } | undefined
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Reads an address, such as `#/tool/echo?args=%7B%7D`. An unknown view becomes the overview. */
export const parse = (hash: string): Address => {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?")
  const [first = "", ...rest] = path.split("/")
  const view = views.find((each) => each === first) ?? "overview"
  let args: Address["args"]
  try {
    const given: unknown = JSON.parse(new URLSearchParams(query).get("args") ?? "null")
    if (typeof given === "object" && given !== null && !Array.isArray(given)) args = { ...given }
  } catch {
    args = undefined
  }
  return { view, item: decoded(rest.join("/")), args }
}

/** The address of a view. A name that is not well-formed Unicode can't be part of an address unchanged. */
export const link = (view: ViewName, item: string | number = "", args?: Address["args"]): string => {
  const path = item === "" ? `#/${view}` : `#/${view}/${encodeURIComponent(String(item).toWellFormed())}`
  return args === undefined ? path : `${path}?args=${encodeURIComponent(JSON.stringify(args))}`
}

export const route = signal<Address>({ view: "overview", item: "", args: undefined })

/** Follows the page's address. */
export const follow = (): void => {
  const read = () => (route.value = parse(location.hash))
  addEventListener("hashchange", read)
  read()
}
export const go = (to: string): void => void (location.hash = to)
