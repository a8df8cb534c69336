/** An in-memory server that a test stops and starts. Its connections end with it, and new ones fail meanwhile. */
import * as Memory from "@effect-mcp/core/Memory"
import { TransportError } from "@effect-mcp/core/Transport"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as McpClients from "@effect-mcp/client/McpClients"
import * as McpServer from "@effect-mcp/server/McpServer"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"

export const mortal = Effect.fnUntraced(function* <R>(features: Layer.Layer<never, never, R>, title = "mortal") {
  const built = yield* Layer.build(McpServer.layer({ name: title, version: "1", features, dynamic: true }))
  const server = Context.get(built, McpServer.McpServer)
  const wires = new Set<Scope.Closeable>()
  let refusal: TransportError | undefined
  let opened = 0
  const connector = Effect.gen(function* () {
    if (refusal !== undefined) return yield* refusal
    opened++
    const wire = yield* Scope.make()
    wires.add(wire)
    const [near, far] = yield* Scope.provide(Memory.pair(), wire)
    yield* Scope.provide(server.connect(far), wire)
    yield* Effect.addFinalizer(() => Scope.close(wire, Exit.void))
    return near
  })
  return {
    connector,
    opened: () => opened,
    /** Ends all connections, and rejects new ones. */
    stop: (error = new TransportError({ reason: "Open", message: "There is no such process" })) =>
      Effect.suspend(() => {
        refusal = error
        const all = [...wires]
        wires.clear()
        return Effect.forEach(all, (wire) => Scope.close(wire, Exit.void), { discard: true })
      }),
    start: Effect.sync(() => {
      refusal = undefined
    })
  }
})

/** A table entry for the server, in one revision. */
export const member = (
  { connector }: Effect.Success<ReturnType<typeof mortal>>,
  { version }: Revision,
  services?: McpClients.Common["services"]
) => McpClients.server({ connector, client: { revisions: [version] }, services })

/**
 * Advances time in steps, so that a handshake or ping that starts meanwhile ends before the clock exceeds its timeout.
 */
export const pass = Effect.fnUntraced(function* (seconds: number) {
  for (let second = 0; second < seconds; second++) {
    yield* TestClock.adjust("1 second")
    yield* quiesce
  }
})
