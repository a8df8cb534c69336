/** An in-process server. It needs no child process or sockets, so thousands of conversations per second are possible. */
import * as Framing from "@effect-mcp/core/Framing"
import * as Transport from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { type LineTarget, TargetError, type Wire, type WireEvent } from "./Target.ts"

const textOf = (message: JsonRpc.Message | ReadonlyArray<JsonRpc.Message>): string =>
  JsonRpc.isBatch(message) ? `[${message.map(JsonRpc.encode).join(",")}]` : JsonRpc.encode(message)

/** Creates the server's end of a wire whose other end is a pair of functions. */
const transport = (receive: (event: WireEvent) => void) => {
  const early: Array<Transport.Inbound> = []
  let push = (inbound: Transport.Inbound): void => void early.push(inbound)
  let finish = (): void => {}
  const incoming = Transport.fromCallback((next) =>
    Effect.callback<void>((resume) => {
      push = next
      finish = () => resume(Effect.void)
      for (const inbound of early.splice(0)) next(inbound)
    })
  )
  const end: Transport.Transport = {
    ...incoming,
    sink: {
      send: (message) => receive({ _tag: "Line", text: textOf(message) }),
      writable: () => true,
      ready: Effect.void
    },
    broken: Effect.never
  }
  const wire: Wire = {
    send: (line) => {
      if (line.trim() !== "") push(Framing.decode(line))
    },
    end: Effect.sync(() => finish())
  }
  return { end, wire }
}

const build = <E, R>(server: Layer.Layer<McpServer.McpServer, E, R>) =>
  Effect.mapBoth(Layer.build(Layer.fresh(server)), {
    onSuccess: (context) => Context.get(context, McpServer.McpServer),
    onFailure: (error) => new TargetError({ message: `The server cannot be built: ${Cause.pretty(Cause.fail(error))}` })
  })

const inMemory = (
  name: string,
  server: Effect.Effect<McpServer.McpServer["Service"], TargetError, Scope.Scope>
): LineTarget => ({
  name,
  transport: "memory",
  settle: quiesce,
  open: (receive) =>
    Effect.gen(function* () {
      const { end, wire } = transport(receive)
      yield* (yield* server).connect(end)
      return wire
    })
})

/**
 * Returns a target that builds a new server from the layer for every conversation, so each one starts with fresh state, like a new process.
 * To share services between conversations, provide them outside the layer.
 */
export const memory = <E, R>(
  server: Layer.Layer<McpServer.McpServer, E, R>,
  name = "in memory"
): Effect.Effect<LineTarget, never, R> =>
  Effect.contextWith((context: Context.Context<R>) => {
    // Each server has a separate scope, because the scope in the context may belong to a whole test.
    const fresh = Effect.flatMap(Effect.scope, (scope) =>
      Effect.provide(build(server), Context.add(context, Scope.Scope, scope))
    )
    return Effect.succeed(inMemory(name, fresh))
  })

/**
 * Returns a target that uses one server for all conversations, each with a separate session, as over HTTP. Two to three times as fast as
 * `memory`. Use it only if the handlers keep no state, because later conversations would see state left by earlier ones.
 */
export const memoryShared = <E, R>(
  server: Layer.Layer<McpServer.McpServer, E, R>,
  name = "in memory"
): Effect.Effect<LineTarget, TargetError, R | Scope.Scope> =>
  Effect.map(build(server), (server) => inMemory(name, Effect.succeed(server)))
