/** A client and a hand-written server, connected in memory, for each revision. */
import { quiesce } from "@effect-mcp/testing/Quiesce"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Revision from "@effect-mcp/protocol/Revision"
import { Effect, Stream } from "effect"
import * as Modern from "./modern.ts"
import * as Scripted from "./scripted.ts"

export { quiesce }

/** Revisions with a session. */
export const versions = Revision.stateful.map((revision) => revision.version)
/** Revisions of both eras. */
export const all = Revision.all.map((revision) => revision.version)
export const since = (first: Revision.Version) => all.filter((version) => version >= first)
export const until = (last: Revision.Version) => all.filter((version) => version <= last)

/** Speaks only the era of the script's version unless told otherwise, so nothing of the other era is sent. */
export const connected = Effect.fnUntraced(function* (script: Scripted.Script, options?: McpClient.Options) {
  const modern = script.version === Modern.version
  const server = yield* modern ? Modern.make(script) : Scripted.make(script)
  const client = yield* McpClient.connect(server.transport, {
    revisions: modern ? [Modern.version] : versions,
    ...options
  })
  return { server, client }
})

export const collect = <A, E, R>(stream: Stream.Stream<A, E, R>) =>
  Effect.map(Stream.runCollect(stream), (chunk): ReadonlyArray<A> => [...chunk])

/** The next cancellation that the server receives. */
export const cancellation = ({ notification }: Scripted.Scripted) =>
  Effect.repeat(notification, { until: ({ method }) => method === "notifications/cancelled" })
