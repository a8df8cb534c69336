/**
 * Reports whether servers are alive and ready for requests, to a platform's HTTP probes and in responses to `ping`.
 *
 * Tracks checks, draining, and the number of servers that have been built. The reason for a failed check is only logged, because any caller
 * can request the report.
 */
import type * as McpError from "@effect-mcp/protocol/McpError"
import { interrupted } from "@effect-mcp/protocol/McpError"
import { onShutdown } from "@effect-mcp/server/internal/sharing"
import * as Middleware from "@effect-mcp/server/Middleware"
import * as Observer from "@effect-mcp/server/Observer"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"

/** `failed` means that the check failed or timed out. */
export interface CheckReport {
  readonly name: string
  readonly status: "ok" | "failed"
  readonly critical: boolean
}

/**
 * The servers' status. `starting` means no server has been built yet. `draining` means the servers are about to stop. `failing` means a
 * critical check failed. `degraded` means another check failed, but requests are still handled.
 */
export interface HealthReport {
  readonly status: "ready" | "degraded" | "starting" | "draining" | "failing"
  readonly checks: ReadonlyArray<CheckReport>
}

/** True if requests should be sent to this process. */
export const isReady = ({ status }: HealthReport): boolean => status === "ready" || status === "degraded"

interface Check {
  readonly name: string
  readonly critical: boolean
  readonly run: Effect.Effect<unknown, unknown>
  /** Returns false if there is nothing to check. */
  readonly applies?: (() => boolean) | undefined
}

/** The service that reports whether a process is ready to serve. */
export class Health extends Context.Service<
  Health,
  {
    /** Runs the checks, unless they ran a moment ago, and returns the report. */
    readonly report: Effect.Effect<HealthReport>
    /** Reports the servers as not ready from now on. `McpServer.serveHttp` calls it on shutdown. */
    readonly drain: Effect.Effect<void>
    /** Adds a check until the scope closes. See `layerCheck`. */
    readonly register: (check: Check) => Effect.Effect<void, never, Scope.Scope>
  }
>()("@effect-mcp/operate/Health") {}

export interface Options {
  /** Time limit for each check. Default 5 seconds. */
  readonly timeout?: Duration.Input | undefined
  /** How long to reuse a report. Default 1 second. */
  readonly cache?: Duration.Input | undefined
}

/**
 * Runs a check in a separate fiber, because an uninterruptible check would block every report. While it is still running, it counts as
 * failed and is not started again.
 */
const runner = (timeout: Duration.Input) => {
  const late = new Map<Check, Fiber.Fiber<unknown, unknown>>()
  return Effect.fnUntraced(function* (check: Check): Effect.fn.Return<CheckReport> {
    const { critical, name, run } = check
    if (late.has(check)) return { name, critical, status: "failed" }
    const fiber = yield* Effect.forkDetach(run, { startImmediately: true })
    const exit = yield* Effect.onInterrupt(Effect.timeoutOption(Fiber.await(fiber), timeout), () =>
      Effect.sync(() => fiber.interruptUnsafe())
    )
    if (Option.isSome(exit) && Exit.isSuccess(exit.value)) return { name, critical, status: "ok" }
    if (Option.isNone(exit)) {
      late.set(check, fiber)
      fiber.addObserver(() => late.delete(check))
      fiber.interruptUnsafe()
    }
    const why = Option.isNone(exit) || Exit.isSuccess(exit.value) ? "it timed out" : exit.value.cause
    yield* Effect.ignoreCause(Effect.logWarning(`The check ${JSON.stringify(name)} failed`, why))
    return { name, critical, status: "failed" }
  })
}

/**
 * Reports the health of the servers that this layer is provided to. Provide it to `McpServer.layer`, the checks and the routes. Calls
 * without options all return the same layer. If you pass options, store the layer in a variable, because each call creates a separate
 * `Health`.
 *
 * @example
 * ```ts
 * import { Health } from "@effect-mcp/operate"
 * import { McpServer } from "@effect-mcp/server"
 * import { Effect, Layer } from "effect"
 * import { SqlClient } from "effect/sql"
 *
 * const server = McpServer.layer({ name: "orders", version: "1.0.0", features: Layer.empty })
 * const database = Health.layerCheck("database", Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT 1`), { critical: true })
 * const routes = Layer.mergeAll(McpServer.layerHttp({ path: "/mcp" }), Health.layerRoutes(), database)
 *
 * export const app = McpServer.serveHttp(Layer.provide(routes, Layer.provideMerge(server, Health.layer())))
 * ```
 */
export const layer = (options?: Options): Layer.Layer<Health | Observer.Observers> =>
  options === undefined ? standard : Layer.effectContext(make(options))

const make = Effect.fnUntraced(function* ({ cache = "1 second", timeout = "5 seconds" }: Options) {
  let servers = 0
  let draining = false
  let warned = false
  const checks = new Set<Check>()
  const run = runner(timeout)
  const statusOf = (reports: ReadonlyArray<CheckReport>): HealthReport["status"] => {
    if (draining) return "draining"
    if (servers === 0) return "starting"
    if (reports.some(({ critical, status }) => critical && status === "failed")) return "failing"
    return reports.every(({ status }) => status === "ok") ? "ready" : "degraded"
  }
  const reports = yield* Effect.cachedWithTTL(
    Effect.suspend(() => {
      const applying = Array.from(checks).filter(({ applies }) => applies?.() !== false)
      return Effect.forEach(applying, run, { concurrency: "unbounded" })
    }),
    cache
  )
  const unserved = Effect.suspend(() => {
    if (servers > 0 || draining || warned) return Effect.void
    warned = true
    return Effect.ignoreCause(
      Effect.logWarning(
        "The health endpoint was called, but no server reports to it. If your server is running, also provide Health.layer() to McpServer.layer"
      )
    )
  })
  const register = (check: Check) =>
    Effect.acquireRelease(
      Effect.sync(() => void checks.add(check)),
      () => Effect.sync(() => checks.delete(check))
    )
  const health = Health.of({
    // The state of the servers is never cached.
    report: Effect.map(Effect.andThen(unserved, reports), (checks) => ({ status: statusOf(checks), checks })),
    drain: Effect.sync(() => void (draining = true)),
    register
  })
  const observe: Observer.Observer = {
    drains: () => void (draining = true),
    serves: ({ nodes, tasks }) => {
      const stores = () => Array.from(tasks.all).flatMap(({ answers }) => answers ?? [])
      return Effect.all(
        [
          nodes === undefined
            ? Effect.void
            : // Without its database, a node cannot open sessions.
              register({ name: "nodes", critical: true, run: nodes.directory.answers }),
          // Without their store, everything except tasks still works. A server's features are built after the store.
          register({
            name: "tasks",
            critical: false,
            run: Effect.suspend(() => Effect.all(stores(), { concurrency: "unbounded", discard: true })),
            applies: () => stores().length > 0
          }),
          Effect.acquireRelease(
            Effect.sync(() => void servers++),
            () => Effect.sync(() => void servers--)
          )
        ],
        { discard: true }
      )
    }
  }
  return Context.merge(Context.make(Health, health), Observer.service(observe))
})

/** A single value, so that every call without options shares the same health. */
const standard = Layer.effectContext(Effect.suspend(() => make({})))

/**
 * Adds a check for as long as the layer lives. It passes unless the effect fails. If a critical check fails, the servers are not ready. If
 * any other check fails, they are degraded, which suits a store that only a few requests need. By default, checks are not critical.
 */
export const layerCheck = <E, R>(
  name: string,
  check: Effect.Effect<unknown, E, R>,
  { critical = false }: { readonly critical?: boolean | undefined } = {}
): Layer.Layer<never, never, Health | R> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { register } = yield* Health
      yield* register({ name, critical, run: Effect.provideContext(check, yield* Effect.context<R>()) })
    })
  )

export interface RouteOptions {
  /** Path of the liveness route. Default `/healthz`. */
  readonly live?: HttpRouter.PathInput | undefined
  /** Path of the readiness route. Default `/readyz`. */
  readonly ready?: HttpRouter.PathInput | undefined
}

const respond = (status: number, body: HealthReport | { readonly status: "ok" }) =>
  HttpServerResponse.jsonUnsafe(body, { status, headers: { "cache-control": "no-store" } })

/**
 * Adds two routes. `/healthz` returns 200 as long as the process responds. `/readyz` returns 200 if the servers are ready or degraded, and
 * 503 otherwise, with the report as JSON. Neither route requires authorization.
 */
export const layerRoutes = ({ live = "/healthz", ready = "/readyz" }: RouteOptions = {}): Layer.Layer<
  never,
  never,
  Health | HttpRouter.HttpRouter
> =>
  HttpRouter.use((router) =>
    Effect.gen(function* () {
      const health = yield* Health
      yield* onShutdown(health.drain)
      yield* router.add("GET", live, Effect.succeed(respond(200, { status: "ok" })))
      yield* router.add(
        "GET",
        ready,
        Effect.map(health.report, (report) => respond(isReady(report) ? 200 : 503, report))
      )
    })
  )

/** Makes `ping` fail with -31503 and the status whenever `/readyz` would return 503. Add it to a server's features, for stdio. */
export const layerPing: Layer.Layer<never, never, Health | Middleware.MiddlewareRegistry> = Layer.unwrap(
  Effect.map(Health, (health) =>
    Middleware.inbound(({ message }, next) =>
      message.method !== "ping"
        ? next
        : Effect.flatMap(health.report, (report): Effect.Effect<unknown, McpError.McpError> =>
            isReady(report) ? next : Effect.fail(interrupted(`The server is not ready: ${report.status}`))
          )
    )
  )
)
