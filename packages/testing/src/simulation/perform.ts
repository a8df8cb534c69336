/** Runs an application once on a stage: its server, its clients, and the connections between them. */
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Http from "@effect-mcp/client/Http"
import * as Sse from "@effect-mcp/client/Sse"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import type * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import { reasonOf } from "../engine/Exits.ts"
import { driven, inWorld, patience, serving } from "../engine/Run.ts"
import type * as McpTest from "../McpTest.ts"
import { fetchOf, handlerOf, url } from "./httpWire.ts"
import type { Stage } from "./Stage.ts"
import { pair } from "./wire.ts"

/** How each client program ended, by client name. */
export type Ends = { readonly [client: string]: Exit.Exit<unknown, unknown> }

/** An application: a server and client programs. `W` holds the services shared by the features, programs and checks. */
export interface App<W, E = never, LE = never, LR = never> {
  /** The server's features. */
  readonly features: Layer.Layer<never, E, W | McpServer.Registries | RequestServices>
  /** Client programs, by name. They all run concurrently. */
  readonly clients: {
    readonly [name: string]: (client: McpClient.Client) => Effect.Effect<unknown, unknown, W | Scope.Scope>
  }
  /** Built from scratch for each run. Also provides the clients' `Elicitation`, `Sampling` and `Roots`. */
  readonly world: Layer.Layer<W, LE, LR>
  /** Invariant to check whenever a message arrives. Fail the effect if the invariant is violated. */
  readonly always?: Effect.Effect<unknown, unknown, W> | undefined
  /** Invariant to check after all programs have ended. Receives how each one ended. */
  readonly atEnd?: ((ends: Ends) => Effect.Effect<unknown, unknown, W>) | undefined
  /** Protocol revision to use. Default: the newest one that has sessions. */
  readonly revision?: Revision.Revision | undefined
  /**
   * Transport to use. `http` is Streamable HTTP. `sse` is HTTP with SSE from 2024-11-05, for revisions that have sessions. Both use the
   * server's web handler. Default `memory`.
   */
  readonly transport?: "memory" | "http" | "sse" | undefined
  /** Client options, such as whether to reconnect. */
  readonly client?: McpTest.Options["client"]
  /** Server options, such as limits. */
  readonly server?: McpTest.Options["server"]
}

/** Runs the application to its end. `stage.failure` says what went wrong. */
export const perform = <W, E, LE, LR>(
  app: App<W, E, LE, LR>,
  stage: Stage
): Effect.Effect<void, E | LE | McpTest.TestConnectError, LR> => {
  const whole = Effect.fnUntraced(function* (world: Context.Context<W>) {
    const server = yield* serving(app.features, app.server, world)
    const context = Context.merge(world, server)
    const connector = yield* Effect.provide(connectorOf(app, stage), context)
    const programs = Object.entries(app.clients).map(([name, program]) =>
      Effect.scoped(Effect.flatMap(connector(name), program)).pipe(
        Effect.onExit((exit) => Effect.sync(() => judge(stage, name, exit)))
      )
    )
    const fibers = yield* Effect.forEach(programs, (program) => Effect.forkChild(Effect.provide(program, context)))
    const exits = yield* Effect.forEach(fibers, (fiber) => Fiber.await(fiber))
    const ends: Ends = Object.fromEntries(
      Object.keys(app.clients).map((name, index) => [name, exits[index] ?? Exit.void])
    )
    yield* stage.driver.idle
    yield* Effect.provide(check(stage, app.atEnd?.(ends)), context)
    if (stage.running > 0) yield* Effect.sleep(patience)
    yield* Effect.sync(() => leaks(stage))
  })
  const failing = Effect.callback<void>((resume) => {
    stage.onFailure = () => resume(Effect.void)
  })
  const seeded = Random.withSeed(Effect.raceFirst(inWorld(whole, app.world), failing), stage.decisions.seed)
  return driven(stage.driver, seeded, (reason) => stage.fail("stuck", `The run has no end: ${reason}`))
}

const judge = (stage: Stage, name: string, exit: Exit.Exit<unknown, unknown>): void => {
  if (Exit.isSuccess(exit)) return stage.trace.add(`${name} is done`)
  stage.trace.add(`${name} fails: ${reasonOf(exit.cause)}`)
  // A program may fail if its connection was cut, but it must not die.
  if (Cause.hasInterruptsOnly(exit.cause)) return
  if (Cause.hasDies(exit.cause) || !stage.cut.has(name)) stage.fail("client", `${name} fails: ${reasonOf(exit.cause)}`)
}

const check = <R>(
  stage: Stage,
  invariant: Effect.Effect<unknown, unknown, R> | undefined
): Effect.Effect<void, never, R> =>
  invariant === undefined
    ? Effect.void
    : Effect.matchCause(invariant, {
        onSuccess: () => undefined,
        onFailure: (cause) => stage.fail("invariant", reasonOf(cause))
      })

const leaks = (stage: Stage): void => {
  const { running } = stage
  if (running > 0) stage.fail("leak", `${running} fibers of handlers run on after all clients have ended`)
}

/** Connects the client with this name. */
const connectorOf = <W, E, LE, LR>(app: App<W, E, LE, LR>, stage: Stage) =>
  Effect.gen(function* () {
    const context = yield* Effect.context<W>()
    const server = yield* McpServer.McpServer
    const checked = Effect.provide(check(stage, app.always), context)
    const { revision = Revision.latestStateful, transport = "memory" } = app
    const options = { revisions: [revision.version], ...app.client }
    if (transport !== "memory") {
      const handler = yield* handlerOf(stage, transport)
      const http = transport === "http" ? Http.open({ url, transport: "streamable" }) : Sse.open({ url })
      return (name: string) =>
        McpClient.open(http, options).pipe(
          Effect.provide(FetchHttpClient.layer),
          Effect.provideService(FetchHttpClient.Fetch, fetchOf(stage, name, handler, checked))
        )
    }
    return (name: string) => {
      let connections = 0
      const connector = Effect.gen(function* () {
        const connection = ++connections === 1 ? name : `${name} ${connections}`
        const [near, far] = yield* pair(stage, name, connection, checked)
        yield* server.connect(far)
        return near
      })
      return McpClient.open(connector, options)
    }
  })
