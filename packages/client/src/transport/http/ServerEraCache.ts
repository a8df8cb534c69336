/**
 * Remembers the transports of stateful servers from earlier connections (spec 2026-07-28: basic/versioning, backward compatibility), so
 * that they are not probed again. A server that has changed is probed and forgotten.
 */
import { BoundedMap } from "@effect-mcp/core/internal/inFlight"
import * as Context from "effect/Context"

/** The transport of a stateful server. */
export type KnownTransport = "streamable" | "sse"

/** Keyed by endpoint, because one origin may have several endpoints with different eras. Lives as long as the process, unless provided. */
export const ServerEraCache = Context.Reference<Map<string, KnownTransport>>(
  "@effect-mcp/client/connector/Http/Servers",
  { defaultValue: () => new BoundedMap(1000) }
)

const keyOf = ({ origin, pathname }: URL): string => `${origin}${pathname}`

export const recall = (servers: ReadonlyMap<string, KnownTransport>, url: URL): KnownTransport | undefined =>
  servers.get(keyOf(url))

/** Stateless servers are not remembered, because every unknown server is probed for that era first. */
export const remember = (servers: Map<string, KnownTransport>, url: URL, what: KnownTransport | "stateless"): void => {
  const key = keyOf(url)
  if (what === "stateless") servers.delete(key)
  else servers.set(key, what)
}
