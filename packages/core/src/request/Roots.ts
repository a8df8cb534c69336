/**
 * The folders a client lets a server work in (spec: client/roots). One tag on both sides: the client implements it, a server's
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

export type RootsError = AskError | McpError

export class Roots extends Context.Service<
  Roots,
  {
    readonly list: Effect.Effect<ReadonlyArray<Root>, RootsError>
    /** One event whenever the list may have changed; `undefined` when changes are never announced. */
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

/** Asks the client for its roots. */
export const list: Effect.Effect<ReadonlyArray<Root>, RootsError, Roots> = Effect.flatMap(Roots, (roots) => roots.list)

/** What a server's handler holds: the client, wherever it is. */
export const proxy = (input: ClientInput["Service"], changes: Stream.Stream<void> | undefined): Roots["Service"] => ({
  list: Effect.map(
    Effect.suspend(() => input.ask("roots/list", {}, { key: "roots/list" })),
    (result) => result.roots
  ),
  changes
})
