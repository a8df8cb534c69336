/**
 * The end of the HTTP endpoints of one app, before that of the server they are on: an HTTP server waits for open streams.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

/** The endpoints of one `serve`: what ends each. */
const Endpoints = Context.Reference<Set<Effect.Effect<void>>>("@effect-mcp/server/endpoint/Http/Endpoints", {
  defaultValue: () => new Set()
})

/** Has `end` run at shutdown, and at the end of the scope in any case: it must not mind to be run twice. */
export const onShutdown = (end: Effect.Effect<void>): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(Endpoints, (endpoints) =>
    Effect.acquireRelease(
      Effect.sync(() => void endpoints.add(end)),
      () =>
        Effect.andThen(
          end,
          Effect.sync(() => endpoints.delete(end))
        )
    )
  )

/** `HttpRouter.serve`, and at shutdown it first lets the endpoints of the app end in order. */
export const serve: typeof HttpRouter.serve = (app, options) =>
  Layer.unwrap(
    Effect.sync(() => {
      const endpoints = new Set<Effect.Effect<void>>()
      const served = HttpRouter.serve(Layer.provide(app, Layer.succeed(Endpoints, endpoints)), options)
      // Built on top of the server, so it is finalized before it.
      const end = Effect.addFinalizer(() =>
        Effect.forEach(endpoints, (end) => end, { concurrency: "unbounded", discard: true })
      )
      return Layer.provideMerge(Layer.effectDiscard(end), served)
    })
  )
