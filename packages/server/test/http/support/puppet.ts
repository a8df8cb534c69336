/** A tool whose calls carry out the orders of a test, one after the other. */
import type { AskError } from "@effect-mcp/core/ClientInput"
import { RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import type * as McpServer from "@effect-mcp/server/McpServer"
import type { McpError } from "@effect-mcp/protocol/McpError"
import { type Duration, Effect, Exit, type Layer, Queue, Schema } from "effect"

/** One step of a call. Returning a text ends the call. */
export type Order = Effect.Effect<string | void, AskError | McpError, RequestServices>

export interface Puppet {
  readonly layer: Layer.Layer<never, never, McpServer.Registries>
  /** Names of the calls that have started. */
  readonly entered: Queue.Queue<string>
  /** How each call ended. */
  readonly ended: Queue.Queue<readonly [name: string, how: "done" | "interrupted"]>
  readonly tell: (name: string, order: Order) => Effect.Effect<void>
}

export const answer = (text: string): Order => Effect.succeed(text)
/** Closes the connection on which the call would be answered. */
export const leave = (retry?: Duration.Input): Order =>
  Effect.map(RequestContext, ({ closeStream }) => closeStream(retry))

export const make: Effect.Effect<Puppet> = Effect.gen(function* () {
  const entered = yield* Queue.unbounded<string>()
  const ended = yield* Queue.unbounded<readonly [string, "done" | "interrupted"]>()
  const orders = new Map<string, Queue.Queue<Order>>()
  const ordersOf = (name: string): Queue.Queue<Order> => {
    const queue = orders.get(name) ?? Effect.runSync(Queue.unbounded<Order>())
    orders.set(name, queue)
    return queue
  }
  const layer = Tools.layer(
    Tool.make("puppet", { description: "Does as it is told.", input: { name: Schema.String } }),
    Effect.fnUntraced(function* ({ name }) {
      yield* Effect.addFinalizer((exit) => Queue.offer(ended, [name, Exit.isSuccess(exit) ? "done" : "interrupted"]))
      yield* Queue.offer(entered, name)
      for (;;) {
        const said = yield* yield* Queue.take(ordersOf(name))
        if (said !== undefined) return said
      }
    })
  )
  return { layer, entered, ended, tell: (name, order) => Queue.offer(ordersOf(name), order) }
})
