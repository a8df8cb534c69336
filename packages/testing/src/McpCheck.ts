/**
 * Whether a handler does the same in every era: with questions over the open connection, and run again for every answer.
 *
 * Runs it with a server and a client in memory, three times: in a session (remote), in the stateless revision (replay), and there with each
 * round that asks played twice (strict). Compares how the handler ended, what it asked, and which `Once` steps ran.
 */
import { ClientInput } from "@effect-mcp/core/ClientInput"
import * as Memory from "@effect-mcp/core/Memory"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import type { Inbound, Transport } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Features from "@effect-mcp/server/internal/Features"
import { isSuspension } from "@effect-mcp/server/internal/Replay"
import type * as McpServer from "@effect-mcp/server/McpServer"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as McpTest from "./McpTest.ts"

/** One run of a handler. */
export interface Run<A, E> {
  readonly interpreter: "remote" | "replay" | "strict"
  readonly exit: Exit.Exit<A, E>
  /** The names of the `Once` steps that ran, in order. */
  readonly steps: ReadonlyArray<string>
  /** How often the handler ran. */
  readonly rounds: number
  /** How a round differed when it was played again (strict); undefined where it did not. */
  readonly difference: string | undefined
}

/** The handler differed between interpreters, or ran a step twice. */
export class Mismatch extends Data.TaggedError("Mismatch")<{
  readonly message: string
  readonly runs: ReadonlyArray<Run<unknown, unknown>>
}> {}

/** Options of a check. */
export interface Options {
  /** Options of the servers, such as limits. */
  readonly server?: McpTest.Options["server"]
}

const Check = Tool.make("check", { description: "Runs the handler." })

/**
 * Runs `handler` under every interpreter, each time in a fresh `world`: the services that it needs, and the client's `Elicitation`,
 * `Sampling` and `Roots`. Fails with `Mismatch` unless all runs end the same and run the same steps, none of them twice.
 *
 * @example
 * ```ts
 * import { Elicitation, Once } from "@effect-mcp/core"
 * import { McpCheck } from "@effect-mcp/testing"
 * import { Effect, Schema } from "effect"
 *
 * const book = Effect.gen(function* () {
 *   const seat = yield* Once.run("reserve", Schema.String, Effect.succeed("12A"))
 *   yield* Elicitation.confirm(`Book seat ${seat}?`)
 *   return seat
 * })
 *
 * const runs = await Effect.runPromise(McpCheck.interpreters(book, Elicitation.layerAccept()))
 * for (const { interpreter, rounds } of runs) console.log(interpreter, rounds)
 * // => remote 1
 * // => replay 2
 * // => strict 3
 * ```
 */
export const interpreters = <A, E, W, LE = never, LR = never>(
  handler: Effect.Effect<A, E, RequestServices | NoInfer<W>>,
  world: Layer.Layer<W, LE, LR>,
  options: Options = {}
): Effect.Effect<ReadonlyArray<Run<A, E>>, Mismatch | LE | McpTest.ConnectError, LR> =>
  Effect.gen(function* () {
    const run = (interpreter: Run<A, E>["interpreter"]) => interpret(interpreter, handler, world, options)
    const remote = yield* run("remote")
    const runs = [remote, yield* run("replay"), yield* run("strict")]
    for (const other of runs) {
      const message = other.difference ?? differs(remote, other)
      if (message !== undefined) return yield* new Mismatch({ message: `${message} (${other.interpreter})`, runs })
    }
    return runs
  })

const differs = (remote: Run<unknown, unknown>, other: Run<unknown, unknown>): string | undefined => {
  const twice = other.steps.find((name, i) => other.steps.indexOf(name) < i)
  if (twice !== undefined) return `The step ${JSON.stringify(twice)} ran twice`
  if (!sameExit(remote.exit, other.exit)) return `${describe(remote.exit)} over the wire, but ${describe(other.exit)}`
  return Equal.equals(remote.steps.toSorted(), other.steps.toSorted())
    ? undefined
    : `Ran the steps [${remote.steps.join()}] over the wire, but [${other.steps.join()}]`
}

/** A call of a tool, as a handler to check: `McpCheck.interpreters(McpCheck.call(features, BookTable, input), world)`. */
export const call = <I, O, F, H, E, R>(
  features: Layer.Layer<never, E, R>,
  tool: Tool.Tool<I, O, F, H>,
  input: I
): Effect.Effect<
  Effect.Success<ReturnType<Tools.ToolEntry["call"]>>,
  E | McpError.McpError | Tool.InvalidValue,
  Exclude<R, McpServer.Registries | RequestServices> | RequestServices
> =>
  Effect.gen(function* () {
    const { tools } = yield* Features.build(features)
    const args = yield* tool.input.encode(input)
    return yield* tools.call({ name: tool.name, arguments: isJsonObject(args) ? args : {} })
  })

const interpret = <A, E, W, LE, LR>(
  interpreter: Run<A, E>["interpreter"],
  handler: Effect.Effect<A, E, RequestServices | W>,
  world: Layer.Layer<W, LE, LR>,
  options: Options
): Effect.Effect<Run<A, E>, LE | McpTest.ConnectError, LR> => {
  const steps: Array<string> = []
  const strict = interpreter === "strict"
  const known = strict ? new Map<string, unknown>() : undefined
  let exit: Exit.Exit<A, E> = Exit.die(new Error("The handler never ran"))
  let rounds = 0
  let difference: string | undefined
  const ended = (now: Exit.Exit<A, E>): void => {
    if (Exit.isSuccess(now) || !isSuspension(now.cause)) exit = now
  }
  const watched = Effect.onExit(
    Effect.suspend(() => {
      rounds++
      return Effect.updateService(handler, ClientInput, (input) => watchSteps(input, steps, known))
    }),
    (exit) => Effect.sync(() => ended(exit))
  )
  const features = Tools.layer(Check, () => Effect.as(Effect.ignore(watched), "done"))
  const wire = strict ? twice((message) => (difference ??= message)) : Memory.pair()
  const connected = McpTest.connect(features, interpreter === "remote" ? "2025-11-25" : "2026-07-28", {
    wire,
    server: options.server
  })
  // The handler's own exit is compared, not the result that the client gets.
  const called = Effect.flatMap(connected, (client) => Effect.exit(client.callTool(Check, {})))
  const run = Effect.map(called, (): Run<A, E> => ({ interpreter, exit, steps, rounds, difference }))
  // What the handler needs beyond its request's services is `W`; the compiler cannot subtract unknown types.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the boundary named above
  const needy = run as Effect.Effect<Run<A, E>, McpTest.ConnectError, W | Scope.Scope>
  return Effect.scoped(Effect.provide(needy, Layer.fresh(world)))
}

/** Notes the steps that run. The values in `known` were recorded when this round was played for the first time. */
const watchSteps = (
  input: ClientInput["Service"],
  ran: Array<string>,
  known: Map<string, unknown> | undefined
): ClientInput["Service"] => ({
  ...input,
  once: <A, E, R>(name: string, schema: Schema.Codec<A, unknown>, effect: Effect.Effect<A, E, R>) => {
    const noted = Effect.tap(effect, (value) =>
      Effect.sync(() => {
        ran.push(name)
        known?.set(name, value)
      })
    )
    // A name is one step, so what is known under it has its type.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the boundary named above
    const value = Effect.suspend(() => (known?.has(name) === true ? Effect.succeed(known.get(name) as A) : noted))
    return input.once(name, schema, value)
  }
})

/** Plays every call twice that is answered with questions: the second try leaves once the first is answered, and its answer counts. */
const twice = (
  differ: (message: string) => void
): Effect.Effect<readonly [client: Transport, server: Transport], never, Scope.Scope> =>
  Effect.map(Memory.pair(), ([near, far]) => {
    const tries = new Map<JsonRpc.Id, { readonly id: JsonRpc.Id; readonly again: () => void }>()
    const questions = new Map<JsonRpc.Id, string>()
    const send: Transport["sink"]["send"] = (message, lane, relatedTo) => {
      const again = () => near.sink.send(message, lane, relatedTo)
      if (JsonRpc.isBatch(message) || !JsonRpc.isRequest(message) || message.method !== "tools/call") return again()
      const first = `first ${message.id}`
      tries.set(first, { id: message.id, again })
      near.sink.send({ ...message, id: first }, lane, relatedTo)
    }
    /** What the client receives: not the answers of first tries. */
    const receive = (inbound: Inbound): ReadonlyArray<Inbound> => {
      if (inbound._tag !== "Message" || !JsonRpc.isResponse(inbound.message)) return [inbound]
      const { message } = inbound
      const asked = questionsOf(message)
      const first = tries.get(message.id ?? "")
      if (first === undefined) {
        const before = questions.get(message.id ?? "") ?? asked
        if (before !== asked) differ(`Asks ${before}, but run again: ${asked}`)
        return [inbound]
      }
      if (asked === none) return [{ ...inbound, message: { ...message, id: first.id } }]
      questions.set(first.id, asked)
      first.again()
      return []
    }
    const incoming = Stream.flatMap(near.incoming, (inbound) => Stream.fromIterable(receive(inbound)))
    return [{ ...near, incoming, sink: { ...near.sink, send } }, far] as const
  })

const none = "nothing"

const questionsOf = (response: JsonRpc.Response): string =>
  "result" in response && isJsonObject(response.result) && response.result.inputRequests !== undefined
    ? JSON.stringify(response.result.inputRequests)
    : none

const reasonsOf = (cause: Cause.Cause<unknown>): ReadonlyArray<unknown> =>
  cause.reasons.map((reason) => (reason._tag === "Fail" ? reason.error : reason._tag))

const sameExit = (a: Exit.Exit<unknown, unknown>, b: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isSuccess(a)
    ? Exit.isSuccess(b) && Equal.equals(a.value, b.value)
    : Exit.isFailure(b) && Equal.equals(reasonsOf(a.cause), reasonsOf(b.cause))

const describe = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isSuccess(exit) ? `Succeeded with ${JSON.stringify(exit.value)}` : `Failed with ${Cause.pretty(exit.cause)}`
