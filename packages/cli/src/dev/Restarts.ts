/**
 * Restarts a server when its files change, while its clients stay connected.
 *
 * Each start is first tried in a separate process that only lists its features, so that a broken server never reaches a client. Requests
 * wait in the meantime. After a failed try, they fail with its reason until the next try.
 */
import * as McpClient from "@effect-mcp/client/McpClient"
import type { Requirements } from "@effect-mcp/client/Stdio"
import { type Transport, TransportError } from "@effect-mcp/core/Transport"
import * as McpError from "@effect-mcp/protocol/McpError"
import { lists } from "@effect-mcp/protocol/MethodInfo"
import * as Contract from "@effect-mcp/server/Contract"
import type { Middleware } from "@effect-mcp/server/Middleware"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"
import * as SubscriptionRef from "effect/SubscriptionRef"
import * as Endings from "../terminal/Exit.ts"
import { indent } from "../render/Text.ts"
import type { CommandTarget } from "../target/Target.ts"
import { offered } from "./offered.ts"

export interface Options {
  /** Starts the server. With `trial`, its stderr is only shown if it fails. */
  readonly start: (trial: boolean) => ReturnType<CommandTarget["connect"]>
  readonly client: McpClient.Options
  readonly note: (text: string) => Effect.Effect<void>
}

export interface Restarts {
  /** Connects a client to a process. Waits until a start has succeeded. */
  readonly connector: Effect.Effect<Transport, TransportError, Scope.Scope | Requirements>
  /** Holds requests until the server has started. */
  readonly middleware: Middleware
  /** Stops all processes, tries the next start, and prints the changes. Never fails. */
  readonly restart: (why: string) => Effect.Effect<void, never, Requirements>
}

type State =
  | { readonly _tag: "Starting" }
  /** `replaced` fails when the next start begins. */
  | { readonly _tag: "Serving"; readonly replaced: Deferred.Deferred<never, TransportError> }
  /** A process exited by itself. The next request or change starts another. */
  | { readonly _tag: "Crashed" }
  | { readonly _tag: "Failed"; readonly error: McpError.McpError }

const serving = (): State => ({ _tag: "Serving", replaced: Deferred.makeUnsafe() })

const count = (items: ReadonlyArray<unknown>, noun: string): ReadonlyArray<string> =>
  items.length === 0 ? [] : [`${items.length} ${noun}${items.length === 1 ? "" : "s"}`]

const summary = (contract: Contract.Contract): string =>
  Struct.keys(lists)
    .flatMap((name) => count(contract[name], lists[name].noun))
    .join(", ") || "nothing"

const differences = (before: Contract.Contract, after: Contract.Contract): string => {
  const changes = Contract.diff(before, after)
  if (changes.length === 0) return "Restarted; the contract has not changed"
  const lines = changes.map(({ breaking, message }) => `${message}${breaking ? " (breaking)" : ""}`)
  return `Restarted; the contract has changed:\n${indent(lines.join("\n"))}`
}

interface Parts {
  readonly options: Options
  readonly ref: SubscriptionRef.SubscriptionRef<State>
  /** The running processes. Each completes when the process has exited. */
  readonly running: Set<Deferred.Deferred<void>>
  /** The contract of the last successful start. */
  contract: Contract.Contract | undefined
}

/** Waits for the first state that satisfies the condition. */
const first = <A extends State>({ ref }: Parts, is: (state: State) => state is A): Effect.Effect<A> =>
  Effect.flatMap(Stream.runHead(Stream.filter(SubscriptionRef.changes(ref), is)), (found) =>
    found._tag === "Some" ? Effect.succeed(found.value) : Effect.never
  )

const isServing = (state: State) => state._tag === "Serving"
const isSettled = (state: State) => state._tag !== "Starting"

/** Waits until all processes have exited, because the next one may need an exclusive resource such as a port. */
const allEnded = (parts: Parts): Effect.Effect<void> =>
  Effect.forEach([...parts.running], (ended) => Deferred.await(ended), { discard: true })

const started = Effect.fnUntraced(function* (parts: Parts, trial: boolean) {
  const ended = Deferred.makeUnsafe<void>()
  // Runs after the finalizers of the process.
  yield* Effect.acquireRelease(
    Effect.sync(() => parts.running.add(ended)),
    () => {
      parts.running.delete(ended)
      return Deferred.succeed(ended, undefined)
    }
  )
  return yield* parts.options.start(trial)
})

const connector = Effect.fnUntraced(function* (parts: Parts) {
  const { replaced } = yield* first(parts, isServing)
  const transport = yield* started(parts, false)
  const crashed = ({ message }: TransportError) =>
    Effect.suspend(() => {
      const [what = message] = message.split("\n", 1)
      return Effect.andThen(
        SubscriptionRef.update(parts.ref, (now): State => (now._tag === "Serving" ? { _tag: "Crashed" } : now)),
        parts.options.note(`The server crashed: ${what.replace("; the end of its stderr:", "")}`)
      )
    })
  return {
    ...transport,
    delivery: undefined,
    incoming: transport.incoming.pipe(Stream.tapError(crashed), Stream.interruptWhen(Deferred.await(replaced)))
  }
})

const gate =
  (parts: Parts): Middleware =>
  (_request, next) =>
    Effect.flatMap(first(parts, isSettled), (settled) => {
      if (settled._tag === "Failed") return Effect.fail(settled.error)
      if (settled._tag !== "Crashed") return next
      const revived = SubscriptionRef.update(parts.ref, (now) => (now._tag === "Crashed" ? serving() : now))
      return Effect.andThen(revived, next)
    })

/** Starts a process, reads its lists, and ends it. */
const tried = (parts: Parts) =>
  Effect.scoped(
    Effect.flatMap(
      McpClient.open(started(parts, true), { ...parts.options.client, reconnect: false, validateOutput: false }),
      offered
    )
  )

const restart = Effect.fnUntraced(function* (parts: Parts, why: string) {
  const { note } = parts.options
  const before = yield* SubscriptionRef.getAndSet(parts.ref, { _tag: "Starting" })
  if (before._tag === "Serving") {
    Deferred.doneUnsafe(before.replaced, Effect.fail(new TransportError({ reason: "Exited", message: why })))
  }
  yield* allEnded(parts)
  const exit = yield* Effect.exit(tried(parts))
  if (Exit.isFailure(exit)) {
    const [{ detail, message }] = Endings.fromCause(exit.cause)
    const reason = detail === undefined ? message : `${message}\n${detail}`
    yield* note(`The server does not start. It will be restarted on the next change.\n${indent(reason)}`)
    const error = McpError.internalError(
      `The server does not start and will be restarted on the next change to its files. ${reason}`
    )
    yield* SubscriptionRef.set(parts.ref, { _tag: "Failed", error })
    return
  }
  yield* SubscriptionRef.set(parts.ref, serving())
  const known = parts.contract
  parts.contract = exit.value
  yield* note(known === undefined ? `Started: ${summary(exit.value)}` : differences(known, exit.value))
})

/** Creates the restarts. The first call to `restart` is the first start. */
export const make = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<Restarts> {
  const ref = yield* SubscriptionRef.make<State>({ _tag: "Starting" })
  const parts: Parts = { options, ref, running: new Set(), contract: undefined }
  return {
    connector: connector(parts),
    middleware: gate(parts),
    restart: (why) => restart(parts, why)
  }
})
