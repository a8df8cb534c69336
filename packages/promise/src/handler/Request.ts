/**
 * The running request of a handler, with its services as promises. Created for each call, so members are created on first use.
 */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import { Log as LogService } from "@effect-mcp/core/Log"
import * as Once from "@effect-mcp/core/Once"
import { Principal as PrincipalService } from "@effect-mcp/core/Principal"
import { Progress } from "@effect-mcp/core/Progress"
import { RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import * as Roots from "@effect-mcp/core/Roots"
import * as Sampling from "@effect-mcp/core/Sampling"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { StandardSchemaV1 } from "@standard-schema/spec"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { handled } from "../boundary.ts"
import { ofQuestion } from "../ErrorTranslation.ts"
import type { Implementation, Root, SamplingParams, SampledMessage } from "../model/Results.ts"
import type { Meta } from "../model/Content.ts"
import { formOf } from "../schema/Form.ts"
import type { Ask, AskOptions, HandlerContext, Jsonified, Log, Principal } from "./Context.ts"

/** Token limit for the answer to a plain string. */
const defaultTokens = 1024

/** The error that rejects promises of an ended request. */
const aborted = (message: string): DOMException => new DOMException(message, "AbortError")

const done = Promise.resolve()

/** Wraps a value thrown inside `once`. */
class StepFailure extends Data.TaggedError("StepFailure")<{ readonly thrown: unknown }> {}

export class Request implements HandlerContext {
  readonly #context: Context.Context<RequestServices>
  #controller: AbortController | undefined = undefined
  #reason: DOMException | undefined = undefined
  #over = false
  #replayed = false
  /** Running questions, steps and progress reports. */
  #running: Set<Fiber.Fiber<unknown, unknown>> | undefined = undefined
  /** Number of unanswered questions. */
  #open = 0

  constructor(context: Context.Context<RequestServices>) {
    this.#context = context
  }

  static of(context: Context.Context<RequestServices>): Request {
    return new Request(context)
  }

  #get<Id extends RequestServices, S>(key: Context.Key<Id, S>): S {
    return Context.getUnsafe(this.#context, key)
  }

  /** True if the handler waits for an answer that only another run can receive. */
  get suspended(): boolean {
    return this.#open > 0 && this.#replayed
  }

  /** True if the request ended before its handler. */
  get aborted(): boolean {
    return this.#reason !== undefined
  }

  /**
   * Called when the request ends before its handler. `replayed` means that the handler will run again, with the answers to its questions: at
   * the end of a round, or when a task is parked. Its open questions then never settle, so that it does not mistake them for failed ones.
   */
  abort(reason: DOMException, replayed: boolean): void {
    this.#replayed = replayed
    this.#reason = reason
    this.#controller?.abort(this.#reason)
    this.end()
  }

  /** Called when the handler has ended. Interrupts everything it did not wait for. */
  end(): void {
    this.#over = true
    for (const fiber of this.#running ?? []) fiber.interruptUnsafe()
  }

  /** Exposes `#run` to packages that wrap this class. Static, so that it is not a member that programs see. */
  static run<A>(
    request: Request,
    effect: Effect.Effect<A, unknown, RequestServices>,
    options: { readonly question: boolean }
  ): Promise<A> {
    return request.#run(effect, options.question)
  }

  /**
   * Runs an effect of the request, or rejects if the request has ended. The rejection counts as handled, so that it does not crash the
   * process if the handler does not await it.
   */
  #run<A>(effect: Effect.Effect<A, unknown, RequestServices>, question = false): Promise<A> {
    return handled(this.#settled(effect, question))
  }

  #settled<A>(effect: Effect.Effect<A, unknown, RequestServices>, question: boolean): Promise<A> {
    if (this.#over) return Promise.reject(this.#reason ?? aborted("The request has already ended"))
    const fiber = Effect.runForkWith(this.#context)(effect)
    const exit = fiber.pollUnsafe()
    if (exit !== undefined)
      return Exit.isSuccess(exit) ? Promise.resolve(exit.value) : Promise.reject(this.#errorOf(exit.cause))
    const running = (this.#running ??= new Set())
    running.add(fiber)
    if (question) this.#open++
    return new Promise((resolve, reject) => {
      fiber.addObserver((exit) => {
        running.delete(fiber)
        if (Exit.isSuccess(exit)) {
          if (question) this.#open--
          resolve(exit.value)
        } else if (!(question && this.#over && this.suspended)) {
          if (question) this.#open--
          reject(this.#errorOf(exit.cause))
        }
      })
    })
  }

  #errorOf(cause: Cause.Cause<unknown>): unknown {
    if (Cause.hasInterruptsOnly(cause)) return this.#reason ?? aborted("The request has already ended")
    const error = Cause.squash(cause)
    return error instanceof StepFailure ? error.thrown : ofQuestion(error)
  }

  get signal(): AbortSignal {
    const controller = (this.#controller ??= new AbortController())
    if (this.#reason !== undefined) controller.abort(this.#reason)
    return controller.signal
  }

  get ask(): Ask {
    const confirm = (message: string): Effect.Effect<unknown, unknown, RequestServices> => Elicitation.confirm(message)
    const form = (message: string, schema: StandardSchemaV1, options?: AskOptions) =>
      Effect.suspend(() => {
        const { requestedSchema, validate } = formOf(schema)
        const asked = Effect.flatMap(Elicitation.elicit({ message, requestedSchema }, options), Elicitation.accepted)
        return Effect.flatMap(asked, ({ content = {} }) =>
          Effect.mapError(validate(content), (issue) =>
            McpError.invalidParams(`The answer does not match the form: ${issue.message}`)
          )
        )
      })
    const ask = (message: string, schema?: StandardSchemaV1, options?: AskOptions): Promise<unknown> =>
      this.#run(schema === undefined ? confirm(message) : form(message, schema, options), true)
    const url = (message: string, url: string | URL): Promise<string> =>
      this.#run(Elicitation.url({ message, url: String(url) }), true)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema validates the answer, as the overloads say
    return Object.assign(ask, { url }) as Ask
  }

  get progress(): HandlerContext["progress"] {
    const progress = this.#get(Progress)
    if (!progress.wanted) return () => done
    return (value, options) => (this.#over ? done : this.#run(progress.report(value, options)))
  }

  get log(): Log {
    const log = this.#get(LogService)
    const at =
      (level: keyof Log): Log[keyof Log] =>
      (data, logger) =>
        log.logUnsafe(level, data, logger)
    return {
      debug: at("debug"),
      info: at("info"),
      notice: at("notice"),
      warning: at("warning"),
      error: at("error"),
      critical: at("critical"),
      alert: at("alert"),
      emergency: at("emergency")
    }
  }

  get once(): HandlerContext["once"] {
    return <A>(name: string, effect: () => A | PromiseLike<A>): Promise<Jsonified<A>> => {
      // Recorded as text, so that the value makes a round trip through JSON in every revision.
      const step = Effect.tryPromise({
        try: async () => JSON.stringify({ value: await effect() }),
        catch: (thrown) => new StepFailure({ thrown })
      })
      return handled(this.#run(Once.run(name, Schema.String, step)).then((text) => JSON.parse(text).value))
    }
  }

  get sample(): HandlerContext["sample"] {
    return (params, options): Promise<SampledMessage> => {
      const { messages, ...rest }: SamplingParams =
        typeof params === "string"
          ? { messages: [{ role: "user", content: { type: "text", text: params } }], maxTokens: defaultTokens }
          : params
      const asked = Sampling.createMessage({ messages, ...rest }, options)
      return this.#run(
        Effect.map(asked, (result) => ({ ...result, text: Sampling.text(result) })),
        true
      )
    }
  }

  get roots(): HandlerContext["roots"] {
    return (): Promise<ReadonlyArray<Root>> => this.#run(Roots.list, true)
  }

  get meta(): Meta {
    return this.#get(RequestContext).meta
  }

  get principal(): Principal {
    return this.#get(PrincipalService)
  }

  get client(): Implementation | undefined {
    return this.#get(RequestContext).clientInfo
  }

  get revision(): string {
    return this.#get(RequestContext).revision.version
  }

  get sessionId(): string | undefined {
    return this.#get(RequestContext).sessionId
  }
}
