/**
 * The running server of a program: its features as one layer, built once and shared by all that serve it.
 *
 * Features may be added and removed while it runs. Its end closes what serves it first, then the server.
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

/** A feature and, while the server runs, the scope that it is registered in. */
interface Entry {
  readonly feature: Feature
  scope: Scope.Closeable | undefined
}

/** Where features of a running server are registered. */
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

/** How long one tool may run, and how large its result may be, in the terms of the layers below. */
const settings = ({ cancelGrace: _ours, limits, onError: _too, rateLimit, ...rest }: ServerOptions) => ({
  ...rest,
  ...(limits && { limits: { tool: limits } }),
  ...(rateLimit === undefined
    ? undefined
    : { rateLimit: rateLimit === false ? rateLimit : { "tools/call": rateLimit } })
})

export class ServerRuntime {
  readonly #entries = new Set<Entry>()
  readonly #runtime: ManagedRuntime.ManagedRuntime<McpServer.McpServer, never>
  readonly #closers = new Set<() => Promise<void>>()
  #live: Live | undefined = undefined
  #closing: Promise<void> | undefined = undefined

  constructor(options: ServerOptions) {
    const features = Layer.effectDiscard(
      Effect.gen({ self: this }, function* () {
        const registries = yield* Effect.context<McpServer.Registries>()
        const live = { registries, scope: yield* Effect.scope }
        // Its first use loads the registries of all but tools: `add` is synchronous, and cannot wait for that.
        yield* (yield* ResourceRegistry).changed
        for (const entry of this.#entries) yield* register(entry, live)
        this.#live = live
      })
    )
    this.#runtime = ManagedRuntime.make(
      // Logs go to stderr, also those of what serves it: stdout may carry messages.
      Layer.provideMerge(McpServer.layer({ ...settings(options), features }), Layer.succeed(Logger.LogToStderr, true))
    )
  }

  /** Throws a `RequestError` if the server was closed. */
  assertOpen(): void {
    if (this.#closing !== undefined)
      throw new RequestError("Closed", "The server is closed: make a new McpServer to serve again")
  }

  /** The server, which is built if it is not there yet. */
  get server(): Effect.Effect<McpServer.Server> {
    return Effect.map(this.#runtime.contextEffect, (context) => Context.get(context, McpServer.McpServer))
  }

  /** The server as a layer: what is built of it shares one server. */
  get layer(): Layer.Layer<McpServer.McpServer> {
    return Layer.effectContext(this.#runtime.contextEffect)
  }

  /** Adds a feature, at once where the server runs. The function removes it, once its requests in flight have ended. */
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

  /** Calls `close` when the server closes, before its end; the function takes that back. */
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
