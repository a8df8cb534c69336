/** A client and a server by hand, connected in memory, over each revision. */
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Revision from "@effect-mcp/protocol/Revision"
import { Effect, Stream } from "effect"
import * as Scripted from "./scripted.ts"

export const versions = Revision.stateful.map((revision) => revision.version)
export const since = (first: Revision.Version) => versions.filter((version) => version >= first)
export const until = (last: Revision.Version) => versions.filter((version) => version <= last)

/** Speaks the stateful revisions only, unless told otherwise: nothing is sent before `initialize`. */
export const connected = Effect.fnUntraced(function* (script: Scripted.Script, options?: McpClient.Options) {
  const server = yield* Scripted.make(script)
  const client = yield* McpClient.connect(server.transport, { revisions: versions, ...options })
  return { server, client }
})

/** Lets everything that can run do so: both ends of the wire, in memory. */
export const settle = Effect.andThen(
  Effect.yieldNow,
  Effect.promise(() => new Promise<void>((done) => setImmediate(done)))
)

export const collect = <A, E, R>(stream: Stream.Stream<A, E, R>) =>
  Effect.map(Stream.runCollect(stream), (chunk): ReadonlyArray<A> => [...chunk])
