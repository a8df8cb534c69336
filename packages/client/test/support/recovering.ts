/** A client whose connector opens one hand-written server after another. */
import * as McpClient from "@effect-mcp/client/McpClient"
import { type Inbound, type Transport, TransportError } from "@effect-mcp/core/Transport"
import type { Version } from "@effect-mcp/protocol/Revision"
import { type Cause, Deferred, Effect, Queue, type Scope, Stream } from "effect"
import { quiesce } from "./connected.ts"
import * as Modern from "./modern.ts"
import * as Scripted from "./scripted.ts"

export interface Opened extends Scripted.Scripted {
  /** Breaks the wire. */
  readonly cut: (error?: TransportError) => void
  /** Injects a message before those that arrive at the client. */
  readonly inject: (inbound: Inbound) => void
  /** True if the client has released it. */
  readonly released: () => boolean
}

export interface Plan {
  readonly version?: Version | undefined
  /** The script of the server for the n-th connection (from 0), or the error with which it fails to open. */
  readonly script?: ((n: number) => Scripted.Script | TransportError) | undefined
  /** Changes each wire. */
  readonly wire?: ((transport: Transport, n: number) => Transport) | undefined
  /** Runs before the wire of the n-th connection is released. */
  readonly release?: ((n: number) => Effect.Effect<void>) | undefined
  /** Delays the n-th connection. */
  readonly hold?: ((n: number) => Effect.Effect<void>) | undefined
}

export const fork = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

/** Results that are valid in every revision. */
export const tool = { content: [], resultType: "complete" }
export const empty = { resultType: "complete", ttlMs: 0, cacheScope: "private" }
export const contents = { contents: [], ...empty }

export const refused = new TransportError({ reason: "Open", message: "Nobody listens" })
export const broken = new TransportError({ reason: "Read", message: "The wire broke" })

/** A script whose requests are never answered on the first connection. */
export const hangingFirst =
  (answers: { readonly [method: string]: Scripted.Answer }) =>
  (n: number): Scripted.Script => ({
    answers:
      n > 0 ? answers : Object.fromEntries(Object.keys(answers).map((method) => [method, () => Effect.never] as const))
  })

/** `opened` lists the servers so far, `tries` counts the attempts to open one. */
export const connector = (plan: Plan) => {
  const opened: Array<Opened> = []
  let tries = 0
  const wire: Effect.Effect<Transport, TransportError, Scope.Scope> = Effect.gen(function* () {
    const n = tries++
    yield* plan.hold?.(n) ?? Effect.void
    const script = plan.script?.(n) ?? {}
    if (script instanceof TransportError) return yield* script
    const { version = script.version } = plan
    const server = yield* (version === Modern.version ? Modern.make : Scripted.make)({ ...script, version })
    const failed = Deferred.makeUnsafe<never, TransportError>()
    const injected = yield* Queue.unbounded<Inbound, Cause.Done>()
    let released = false
    yield* Effect.addFinalizer(() =>
      Effect.andThen(
        plan.release?.(n) ?? Effect.void,
        Effect.sync(() => (released = true))
      )
    )
    opened.push({
      ...server,
      cut: (error = broken) => void Deferred.doneUnsafe(failed, Effect.fail(error)),
      inject: (inbound) => void Queue.offerUnsafe(injected, inbound),
      released: () => released
    })
    const transport = {
      ...server.transport,
      incoming: Stream.merge(server.transport.incoming, Stream.fromQueue(injected), { haltStrategy: "left" }),
      broken: Deferred.await(failed)
    }
    return plan.wire?.(transport, n) ?? transport
  })
  return { wire, opened, tries: () => tries }
}

export const recovering = Effect.fnUntraced(function* (plan: Plan = {}, options?: McpClient.Options) {
  const { opened, tries, wire } = connector(plan)
  const client = yield* McpClient.open(wire, {
    ...(plan.version === undefined ? undefined : { revisions: [plan.version] }),
    ...options
  })
  const server = (n: number): Opened => {
    const found = opened[n]
    if (found === undefined) throw new Error(`There was no connection ${n}`)
    return found
  }
  return { client, opened, server, tries }
})

/** Lets fibers run until the condition holds, and fails if it never does. */
export const until = (condition: () => boolean, turns = 100): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (condition()) return Effect.void
    if (turns === 0) return Effect.die(new Error(`It never was: ${String(condition)}`))
    return Effect.andThen(quiesce, until(condition, turns - 1))
  })
