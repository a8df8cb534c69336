/**
 * A program's running server. Its features form a single layer, which is built once and shared by everything that serves it.
 *
 * Features can be added and removed while the server runs. Shutting down first closes all listeners and then the server.
 */
import { ResourceRegistry } from "@effect-mcp/core/Resources"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Scope from "effect/Scope"
import { RequestError } from "../Errors.ts"
import type { ServerOptions } from "./Options.ts"

type Feature = Layer.Layer<never, never, McpServer.Registries>

/** A feature and, while the server runs, the scope it is registered in. */
interface Entry {
  readonly feature: Feature
  scope: Scope.Closeable | undefined
}

/** Scope and context for registering features on a running server. */
interface Live {
  readonly registries: Context.Context<McpServer.Registries>
  readonly scope: Scope.Scope
}

const register = (entry: Entry, { registries, scope }: Live): Effect.Effect<void> =>
  Effect.suspend(() => {
    const own = Scope.forkUnsafe(scope)
    entry.scope = own
    return Effect.asVoid(
      Effect.provideContext(Layer.buildWithMemoMap(entry.feature, Layer.makeMemoMapUnsafe(), own), registries)
    )
  })

/** Converts the options to the settings of the underlying server. */
const settings = (options: ServerOptions) => {
  const {
    cancelGrace: _cancelGrace,
    drain: _drain,
    limits: given = {},
    onError: _onError,
    rateLimit,
    ...rest
  } = options
  const { spill, ...tool } = given
  return {
    ...rest,
    limits: { tool, spill },
    ...(rateLimit === undefined
      ? undefined
      : { rateLimit: rateLimit === false ? rateLimit : { "tools/call": rateLimit } })
  }
}

/** Builds the server. A tool that `portability: "strict"` refuses rejects everything that serves it. */
const serverOf = (options: ServerOptions, features: Layer.Layer<never, never, McpServer.Registries>) => {
  const { portability, ...rest } = settings(options)
  return portability === "strict"
    ? Layer.orDie(McpServer.layer({ ...rest, portability, features }))
    : McpServer.layer({ ...rest, portability, features })
}

export class ServerRuntime {
  readonly #entries = new Set<Entry>()
  readonly #runtime: ManagedRuntime.ManagedRuntime<McpServer.McpServer, never>
  readonly #closers = new Set<() => Promise<void>>()
  #live: Live | undefined = undefined
  #closing: Promise<void> | undefined = undefined
  /** How long running requests may take to finish when the server closes, in milliseconds. */
  readonly drain: number

  constructor(options: ServerOptions) {
    this.drain = options.drain ?? 10_000
    const features = Layer.effectDiscard(
      Effect.gen({ self: this }, function* () {
        const registries = yield* Effect.context<McpServer.Registries>()
        const live = { registries, scope: yield* Effect.scope }
        // Loads every registry except the tool registry, because `add` is synchronous and can't wait for that.
        yield* (yield* ResourceRegistry).changed
        for (const entry of this.#entries) yield* register(entry, live)
        this.#live = live
      })
    )
    this.#runtime = ManagedRuntime.make(
      // All logs go to stderr, because stdout may carry messages.
      Layer.provideMerge(serverOf(options, features), Layer.succeed(Logger.LogToStderr, true))
    )
  }

  /** Throws a `RequestError` if the server was closed. */
  assertOpen(): void {
    if (this.#closing !== undefined)
      throw new RequestError("Closed", "The server is closed. Create a new McpServer to serve again")
  }

  /** Returns the server, building it if necessary. */
  get server(): Effect.Effect<McpServer.Server> {
    return Effect.map(this.#runtime.contextEffect, (context) => Context.get(context, McpServer.McpServer))
  }

  /** Provides the server as a layer. Everything built from it shares one server. */
  get layer(): Layer.Layer<McpServer.McpServer> {
    return Layer.effectContext(this.#runtime.contextEffect)
  }

  /**
   * Adds a feature, immediately if the server is running. The returned function removes it and resolves once its running requests have
   * finished.
   */
  add(feature: Feature): () => Promise<void> {
    this.assertOpen()
    const entry: Entry = { feature, scope: undefined }
    if (this.#live !== undefined) Effect.runSync(register(entry, this.#live))
    this.#entries.add(entry)
    return async () => {
      this.#entries.delete(entry)
      const { scope } = entry
      entry.scope = undefined
      if (scope !== undefined) await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }

  /** Runs an effect with the server until it ends or the server closes. */
  run<A, E>(effect: Effect.Effect<A, E, McpServer.McpServer>): Promise<Exit.Exit<A, E>> {
    return this.#runtime.runPromiseExit(effect)
  }

  /** Calls `close` when the server shuts down, before the server itself ends. Call the returned function to unregister it. */
  onClose(close: () => Promise<void>): () => void {
    this.assertOpen()
    this.#closers.add(close)
    return () => this.#closers.delete(close)
  }

  close(): Promise<void> {
    return (this.#closing ??= (async () => {
      await Promise.all([...this.#closers].map((close) => close()))
      await this.#runtime.dispose()
    })())
  }
}
