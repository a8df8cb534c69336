/**
 * What is known of servers of the older era from earlier connections (spec 2026-07-28: basic/versioning, backward compatibility): they
 * need not be asked again. One that has changed is found out, and forgotten.
 */
import * as Context from "effect/Context"

/** How a server of the older era is spoken to. */
export type KnownTransport = "streamable" | "sse"

/** By endpoint: one origin may have several, of different eras. Lives as long as the process, unless provided. */
export const ServerEraCache = Context.Reference<Map<string, KnownTransport>>(
  "@effect-mcp/client/connector/Http/Servers",
  {
    defaultValue: () => new Map()
  }
)

const capacity = 1000

const keyOf = ({ origin, pathname }: URL): string => `${origin}${pathname}`

export const recall = (servers: ReadonlyMap<string, KnownTransport>, url: URL): KnownTransport | undefined =>
  servers.get(keyOf(url))

/** `stateless` needs no memory: it is what every server is asked for first. */
export const remember = (servers: Map<string, KnownTransport>, url: URL, what: KnownTransport | "stateless"): void => {
  const key = keyOf(url)
  servers.delete(key)
  if (what === "stateless") return
  const [oldest] = servers.keys()
  if (oldest !== undefined && servers.size >= capacity) servers.delete(oldest)
  servers.set(key, what)
}
