/** The end of an app's HTTP endpoints before that of their HTTP server, which waits for open streams. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

/** The effects that end the endpoints of one `serve`. */
const Endpoints = Context.Reference<Set<Effect.Effect<void>>>("@effect-mcp/server/Shutdown/Endpoints", {
  defaultValue: () => new Set()
})

/** Runs `end` at shutdown, and at the end of the scope; its second run must do nothing. */
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

/** `HttpRouter.serve`, whose shutdown first ends the endpoints of the app in order: subscriptions at once, requests within `drain`. */
export const serve: typeof HttpRouter.serve = (app, options) =>
  Layer.unwrap(
    Effect.sync(() => {
      const endpoints = new Set<Effect.Effect<void>>()
      const served = HttpRouter.serve(Layer.provide(app, Layer.succeed(Endpoints, endpoints)), options)
      // A layer on top of the server is finalized before it.
      const end = Effect.addFinalizer(() =>
        Effect.forEach(endpoints, (end) => end, { concurrency: "unbounded", discard: true })
      )
      return Layer.provideMerge(Layer.effectDiscard(end), served)
    })
  )
