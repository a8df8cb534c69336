/** Performs an application once: its server, its clients, and the wires between them, on one stage. */
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

/** How the programs of the clients ended, by name. */
export type Ends = { readonly [client: string]: Exit.Exit<unknown, unknown> }

/** An application: a server, and what its clients do. `W`: the services that the features, programs and checks share. */
export interface App<W, E = never, LE = never, LR = never> {
  /** The features of the server. */
  readonly features: Layer.Layer<never, E, W | McpServer.Registries | RequestServices>
  /** The program of each client, by name. They run at once. */
  readonly clients: {
    readonly [name: string]: (client: McpClient.Client) => Effect.Effect<unknown, unknown, W | Scope.Scope>
  }
  /** Built anew for each run; also the `Elicitation`, `Sampling` and `Roots` of the clients. */
  readonly world: Layer.Layer<W, LE, LR>
  /** Must hold whenever a message arrives: fails where it does not. */
  readonly always?: Effect.Effect<unknown, unknown, W> | undefined
  /** Must hold when all programs have ended, by the ends that they came to. */
  readonly atEnd?: ((ends: Ends) => Effect.Effect<unknown, unknown, W>) | undefined
  /** Default: the newest revision with sessions. */
  readonly revision?: Revision.Revision | undefined
  /**
   * `http`: Streamable HTTP. `sse`: HTTP with SSE of 2024-11-05, for revisions with sessions. Both by the web handler of the server.
   * Default `memory`.
   */
  readonly transport?: "memory" | "http" | "sse" | undefined
  /** Options of the clients, such as whether they open a lost connection again. */
  readonly client?: McpTest.Options["client"]
  /** Options of the server, such as limits. */
  readonly server?: McpTest.Options["server"]
}

/** Performs the application to its end. What is wrong is `stage.failure`. */
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
  // A program may fail where its connection was cut, but it must not die.
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

/** How a client of that name connects. */
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
