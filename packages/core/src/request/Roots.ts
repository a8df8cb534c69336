/**
 * The folders in which a client lets a server work (spec: client/roots). One tag on both sides: the client implements it, a server's
 * handler holds a proxy.
 */
import type { McpError } from "@effect-mcp/protocol/McpError"
import type { Root } from "@effect-mcp/protocol/model/Root"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import type { AskError, ClientInput } from "./ClientInput.ts"

/** Why the roots could not be had. */
export type RootsError = AskError | McpError

/** The client's roots. */
export class Roots extends Context.Service<
  Roots,
  {
    readonly list: Effect.Effect<ReadonlyArray<Root>, RootsError>
    /** One event whenever the list may have changed; `undefined` where changes are not announced. */
    readonly changes: Stream.Stream<void> | undefined
  }
>()("@effect-mcp/core/Roots") {}

/** A client's roots that never change. */
export const layerStatic = (roots: ReadonlyArray<Root>): Layer.Layer<Roots> =>
  Layer.succeed(Roots, { list: Effect.succeed(roots), changes: undefined })

/** A client's roots that change while it lives; every change is announced to the servers. */
export const layerRef = (ref: SubscriptionRef.SubscriptionRef<ReadonlyArray<Root>>): Layer.Layer<Roots> =>
  Layer.succeed(Roots, {
    list: SubscriptionRef.get(ref),
    changes: SubscriptionRef.changes(ref).pipe(
      Stream.drop(1),
      Stream.map(() => undefined)
    )
  })

/**
 * Asks the client for its roots. Fails with `CapabilityMissing` where it declared none.
 *
 * @example
 * ```ts
 * import { Roots, Tool, Tools } from "@effect-mcp/core"
 * import { McpTest } from "@effect-mcp/testing"
 * import { Console, Effect } from "effect"
 *
 * const CountRoots = Tool.make("count_roots", { description: "Counts the folders of the client" })
 * const countRoots = Tools.layer(CountRoots, () => Effect.map(Roots.list, (roots) => `Roots: ${roots.length}`))
 *
 * const program = Effect.gen(function* () {
 *   const client = yield* McpTest.connect(countRoots, "2025-11-25")
 *   const { content } = yield* client.callTool(CountRoots, {})
 *   for (const block of content) if (block.type === "text") yield* Console.log(block.text) // => Roots: 1
 * })
 *
 * await Effect.runPromise(Effect.scoped(Effect.provide(program, Roots.layerStatic([{ uri: "file:///work" }]))))
 * ```
 */
export const list: Effect.Effect<ReadonlyArray<Root>, RootsError, Roots> = Effect.flatMap(Roots, (roots) => roots.list)

/** The `Roots` of a server's handler: they ask the client. */
export const proxy = (input: ClientInput["Service"], changes: Stream.Stream<void> | undefined): Roots["Service"] => ({
  list: Effect.map(
    Effect.suspend(() => input.ask("roots/list", {}, { key: "roots/list" })),
    (result) => result.roots
  ),
  changes
})
