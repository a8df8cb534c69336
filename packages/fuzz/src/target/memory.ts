/**
 * A server of this process: no process, no sockets, thousands of conversations a second.
 */
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

/** The server's end of a wire whose other end calls and is called back. */
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
 * Every conversation has a fresh server of this layer: its state begins anew, as that of a process does. The layer is built once for each,
 * so services that are to be shared are provided outside of it.
 */
export const memory = <E, R>(
  server: Layer.Layer<McpServer.McpServer, E, R>,
  name = "in memory"
): Effect.Effect<LineTarget, never, R> =>
  Effect.contextWith((context: Context.Context<R>) => {
    // The services may hold the scope of a whole test: a server ends with its conversation.
    const fresh = Effect.flatMap(Effect.scope, (scope) =>
      Effect.provide(build(server), Context.add(context, Scope.Scope, scope))
    )
    return Effect.succeed(inMemory(name, fresh))
  })

/**
 * All conversations are with one server of this layer, each in a session of its own, as over HTTP. Two to three times as fast as `memory`,
 * for servers whose handlers keep no state: they would see what earlier conversations left.
 */
export const memoryShared = <E, R>(
  server: Layer.Layer<McpServer.McpServer, E, R>,
  name = "in memory"
): Effect.Effect<LineTarget, TargetError, R | Scope.Scope> =>
  Effect.map(build(server), (server) => inMemory(name, Effect.succeed(server)))
