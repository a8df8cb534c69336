/** Capabilities that a server declares. */
import type { ServerCapabilities } from "../model/types.ts"

/** Returns the declarations with the members of others added. */
export const merged = (known: ServerCapabilities, added: ServerCapabilities): ServerCapabilities => {
  const all: ServerCapabilities = { ...known }
  for (const [name, value] of Object.entries(added)) {
    const before = all[name]
    all[name] = typeof before === "object" && typeof value === "object" ? { ...before, ...value } : value
  }
  return all
}
