/** Test doubles for a shop with a connection pool. They record everything in the ledger. */
import { Elicitation, Tool, Tools } from "@effect-mcp/core"
import { Torture } from "@effect-mcp/testing"
import { Context, Data, Effect, Layer } from "effect"

/** The shop did not answer. */
export class Busy extends Data.TaggedError("Busy")<{}> {}

export class Pool extends Context.Service<
  Pool,
  { readonly acquire: Effect.Effect<string, Busy>; readonly release: (name: string) => Effect.Effect<void> }
>()("test/Pool") {
  static readonly layer = Layer.effect(
    Pool,
    Effect.map(Torture.Ledger, ({ acquired, released }) => ({
      acquire: Effect.as(acquired("connection"), "connection"),
      release: released
    }))
  )
}

/** Charges once per key, if it has one. */
export class Shop extends Context.Service<
  Shop,
  { readonly charge: (order: string, key?: string) => Effect.Effect<string, Busy> }
>()("test/Shop") {
  static readonly layer = Layer.effect(
    Shop,
    Effect.map(Torture.Ledger, ({ happened }) => {
      const keys = new Set<string>()
      return {
        charge: Effect.fnUntraced(function* (order: string, key?: string) {
          if (key === undefined || !keys.has(key)) yield* happened(`charge ${order}`)
          if (key !== undefined) keys.add(key)
          return `receipt of ${order}`
        })
      }
    })
  )
}

export const world = Layer.mergeAll(Pool.layer, Shop.layer, Elicitation.layerAccept())

export const Pay = Tool.make("pay", { description: "Pays an order" })

/** Calls a tool with this handler. */
export const paying = <R>(handler: Effect.Effect<string, unknown, R>) => {
  const failed = () => Effect.succeed("not paid")
  return Torture.tool(
    Tools.layer(Pay, () => Effect.catch(handler, failed)),
    Pay,
    {}
  )
}
