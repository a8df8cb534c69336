/**
 * Whether servers live, and whether they are ready for requests: for probes of a platform over HTTP, and in the answers to `ping`.
 *
 * Owns the checks, the state of draining, and the count of servers that are built. Refuses to tell why a check failed: that is logged,
 * since any caller may ask.
 */
import type * as McpError from "@effect-mcp/protocol/McpError"
import { interrupted } from "@effect-mcp/protocol/McpError"
import { onShutdown } from "@effect-mcp/server/internal/Shutdown"
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

/** `failed`: the check failed, or took too long. */
export interface CheckReport {
  readonly name: string
  readonly status: "ok" | "failed"
  readonly critical: boolean
}

/**
 * `starting`: no server is built yet. `draining`: the servers are about to stop. `failing`: a critical check failed. `degraded`: another
 * check failed; requests are still answered.
 */
export interface HealthReport {
  readonly status: "ready" | "degraded" | "starting" | "draining" | "failing"
  readonly checks: ReadonlyArray<CheckReport>
}

/** Whether requests are to be sent here. */
export const isReady = ({ status }: HealthReport): boolean => status === "ready" || status === "degraded"

interface Check {
  readonly name: string
  readonly critical: boolean
  readonly run: Effect.Effect<unknown, unknown>
  /** Returns false if there is nothing to check. */
  readonly applies?: (() => boolean) | undefined
}

/** The service that knows whether a process is ready to serve. */
export class Health extends Context.Service<
  Health,
  {
    /** Runs the checks, unless they ran a moment ago. */
    readonly report: Effect.Effect<HealthReport>
    /** Says from now on that the servers are not ready. HTTP served by `McpServer.serveHttp` does so at its shutdown. */
    readonly drain: Effect.Effect<void>
    /** Adds a check, for as long as the scope. See `layerCheck`. */
    readonly register: (check: Check) => Effect.Effect<void, never, Scope.Scope>
  }
>()("@effect-mcp/operate/Health") {}

export interface Options {
  /** How long one check may take. Default 5 seconds. */
  readonly timeout?: Duration.Input | undefined
  /** How long a report is given again, however often it is asked for. Default 1 second. */
  readonly cache?: Duration.Input | undefined
}

/**
 * Runs a check in a fiber of its own: one that cannot be interrupted would hold up every report. While it still runs, it counts as failed,
 * and is not started again.
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
    const why = Option.isNone(exit) || Exit.isSuccess(exit.value) ? "did not end in time" : exit.value.cause
    yield* Effect.ignoreCause(Effect.logWarning(`The check ${JSON.stringify(name)} failed`, why))
    return { name, critical, status: "failed" }
  })
}

/**
 * The health of the servers that receive this layer: provide it to `McpServer.layer`, to the checks and to the routes. All calls without
 * options are one layer. With options, keep the layer in a variable: another call is the health of other servers.
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
        "Health is asked for before a server of it is built. If the servers run, provide Health.layer() to McpServer.layer, too"
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
            : // Without its database a node can open no session.
              register({ name: "nodes", critical: true, run: nodes.directory.answers }),
          // Without their store everything but tasks still works. The features of a server are built after it.
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

/** One value, so that every call without options is the same health. */
const standard = Layer.effectContext(Effect.suspend(() => make({})))

/**
 * A check of one's own, for as long as the layer: it fails, or does not. Critical ones make the servers not ready; others degraded, as
 * where a store is gone that few requests need. Default: not critical.
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
  /** Default `/healthz`. */
  readonly live?: HttpRouter.PathInput | undefined
  /** Default `/readyz`. */
  readonly ready?: HttpRouter.PathInput | undefined
}

const respond = (status: number, body: HealthReport | { readonly status: "ok" }) =>
  HttpServerResponse.jsonUnsafe(body, { status, headers: { "cache-control": "no-store" } })

/**
 * Adds two routes: `/healthz` is 200 while the process answers; `/readyz` is 200 where the servers are ready or degraded, else 503, with
 * the report as JSON. Neither asks for authorization.
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

/** A feature of a server: `ping` is answered by -31503 with the status where `/readyz` would be 503. For stdio. */
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
