/** One run with its own world, server, scheduler and clock. */
import * as McpServer from "@effect-mcp/server/McpServer"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as References from "effect/References"
import type * as Scope from "effect/Scope"
import type { Driver, Stuck } from "./Driver.ts"
import { marked } from "./handlers.ts"
import { plainSeal } from "./plainSeal.ts"

/**
 * Runs an effect in its own scope and a fresh world, whose services it receives. `R` has the requirements of handlers, programs and checks:
 * services of the world, and services that the server adds for each request.
 */
export const inWorld = <A, E, R, W, LE, LR>(
  run: (services: Context.Context<W>) => Effect.Effect<A, E, R>,
  world: Layer.Layer<W, LE, LR>
): Effect.Effect<A, E | LE, LR> =>
  Effect.scoped(
    Effect.flatMap(Layer.build(Layer.fresh(world)), (services) => {
      // The requirements beyond the services of requests are `W`. The compiler cannot subtract unknown types.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the boundary named above
      const needy = run(services) as Effect.Effect<A, E, W | Scope.Scope>
      return Effect.provide(needy, services)
    })
  )

/** Creates a server with the features, whose handlers `isHandler` recognizes. Its services come from the world. */
export const serving = <E, R, W>(
  features: Layer.Layer<never, E, R>,
  options: Partial<Omit<McpServer.Options<never, never>, "features">> | undefined,
  world: Context.Context<W>
) =>
  Effect.provide(
    Layer.build(McpServer.layer({ name: "test", version: "0.0.0", ...options, features: marked(features) })),
    Layer.provideMerge(Layer.succeedContext(world), plainSeal)
  )

/**
 * How long handlers may continue after their calls have ended, by the run's clock. Over HTTP, a server waits two minutes for a client that
 * may reconnect.
 */
export const patience = "3 minutes"

const stuck: { readonly [why in Stuck]: string } = {
  waits: "all fibers wait for each other",
  time: "it does not end within a day",
  tasks: "it does not end within a million steps"
}

/** Runs an effect on the driver, without logs. Closes a run that does not end, and passes the reason to `onStuck`. */
export const driven = <A, E, R>(
  driver: Driver,
  effect: Effect.Effect<A, E, R>,
  onStuck: (reason: string) => void
): Effect.Effect<void, E, R> =>
  // Handlers fail by the hundred in these runs, and their logs would hide the report.
  Effect.flatMap(
    driver.run(Effect.provideService(effect, References.MinimumLogLevel, "None")),
    (ended: Exit.Exit<A, E> | Stuck): Effect.Effect<void, E> => {
      if (typeof ended !== "string") return Effect.asVoid(ended)
      onStuck(stuck[ended])
      return driver.close
    }
  )
