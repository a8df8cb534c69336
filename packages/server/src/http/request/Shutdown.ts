/** Serves an app. Ends its endpoints before the HTTP server, which waits for open streams, and logs failed requests. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerError from "effect/http/HttpServerError"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { CurrentHttpServers, HttpServers } from "./HttpServers.ts"

/** Effects that end the endpoints of one `serve`. */
const Endpoints = Context.Reference<Set<Effect.Effect<void>>>("@effect-mcp/server/Shutdown/Endpoints", {
  defaultValue: () => new Set()
})

/** Runs `end` at shutdown, and again when the scope closes; the second run must do nothing. */
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

/** Logs a cause that resulted in a 500. A client that closes its connection is not a failure. */
const report = (cause: Cause.Cause<unknown>): Effect.Effect<void, never, HttpServerRequest> =>
  Effect.flatMap(HttpServerError.causeResponse(cause), ([{ status }, failure]) => {
    if (status < 500 || Cause.hasInterruptsOnly(failure)) return Effect.void
    return Effect.flatMap(HttpServerRequest, ({ method, url }) =>
      Effect.annotateLogs(Effect.logError("An HTTP request failed", failure), {
        "http.method": method,
        "http.url": url.replace(/[?#][^]*$/, "")
      })
    )
  })

const failures = HttpRouter.middleware((handled) => Effect.tapCause(handled, report), { global: true })

/**
 * Like `HttpRouter.serve`, but on shutdown it first ends the app's endpoints gracefully: subscriptions immediately, and requests within
 * `drain`. Logs failed requests. With `disableLogger: false`, it also logs the path and status of every request, which are the same for all
 * tool calls.
 */
export const serve: typeof HttpRouter.serve = (app, options) =>
  Layer.unwrap(
    Effect.sync(() => {
      const endpoints = new Set<Effect.Effect<void>>()
      const own = Layer.merge(Layer.succeed(Endpoints, endpoints), Layer.succeed(CurrentHttpServers, new HttpServers()))
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `HttpRouter.serve` provides the router
      const reporting = Layer.provideMerge(app, failures) as typeof app
      const whole = options?.disableLogger === undefined ? reporting : app
      const served = HttpRouter.serve(Layer.provide(whole, own), {
        ...options,
        disableLogger: options?.disableLogger ?? true
      })
      // A layer on top of the server is finalized before it.
      const end = Effect.addFinalizer(() =>
        Effect.forEach(endpoints, (end) => end, { concurrency: "unbounded", discard: true })
      )
      return Layer.provideMerge(Layer.effectDiscard(end), served)
    })
  )
