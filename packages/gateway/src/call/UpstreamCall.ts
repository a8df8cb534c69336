/**
 * One request to the upstream server, and what arrives for it: progress, logs, questions, the result.
 *
 * Runs in the gateway's scope, not in the fiber of the downstream request: a request that is answered in rounds (2026-07-28) leaves the
 * call waiting between them. Whatever is attached receives what arrives. While nothing is, questions are kept, and hints up to a bound.
 */
import * as CancelReason from "@effect-mcp/core/CancelReason"
import type { AskError, AskOptions, ClientInput } from "@effect-mcp/core/ClientInput"
import type { Log } from "@effect-mcp/core/Log"
import type { Progress, ReportOptions } from "@effect-mcp/core/Progress"
import type { Outbound } from "@effect-mcp/core/RequestContext"
import type { HeaderParam } from "@effect-mcp/protocol/HeaderParams"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { LogMessageParams } from "@effect-mcp/protocol/model/Logging"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Queue from "effect/Queue"

type Input = ClientInput["Service"]

/** Puts a question to a client. */
export type Put<A> = (input: Input, options: AskOptions) => Effect.Effect<A, AskError | McpError.McpError>

/** Puts a question of the upstream server to the call or session that it belongs to. */
export type PutRelated = <A>(method: string, put: Put<A>) => ReturnType<Put<A>>

/** What the downstream client receives while the call runs. */
type Hint =
  | { readonly _tag: "Progress"; readonly progress: number; readonly options: ReportOptions }
  | { readonly _tag: "Log"; readonly message: LogMessageParams }
  | { readonly _tag: "Notification"; readonly method: string; readonly params: JsonRpc.Params | undefined }
  /** The upstream server has made a task of the call. */
  | { readonly _tag: "Task" }
  | { readonly _tag: "End" }

/** Hints that are kept while nothing is attached; the oldest are dropped. */
const maxHints = 256

interface PendingQuestion {
  /** Asks the downstream client, and passes its answer on; does nothing once the question is settled. */
  readonly ask: (input: Input) => Effect.Effect<void>
  readonly isSettled: () => boolean
  /** Fails the question with `CallEnded`. */
  readonly abandon: (isInterrupted: boolean) => void
}

/** The call ended before its question was answered. The question may belong to another call of the same conversation. */
export class CallEnded extends Data.TaggedError("CallEnded")<{ readonly isInterrupted: boolean }> {}

/** The services of the downstream request that is attached to a call. */
interface RequestServices {
  readonly input: Input
  readonly progress: Progress["Service"]
  readonly log: Log["Service"]
  readonly outbound: Outbound
}

/** The call that a fiber runs, where that is known: a server without sessions asks inside the call itself. */
export const CurrentCall = Context.Reference<UpstreamCall<unknown> | undefined>("@effect-mcp/gateway/CurrentCall", {
  defaultValue: () => undefined
})

export class UpstreamCall<A> {
  readonly id: string
  /** The caller that it counts for; `undefined` if it has neither a name nor an address. */
  readonly caller: string | undefined
  /** The fiber of the upstream request. */
  fiber: Fiber.Fiber<unknown, unknown> | undefined = undefined
  /** The id of the upstream request on its wire. */
  wireId: JsonRpc.Id | undefined = undefined
  /** The arguments that travel in headers, too. Every round must say the same in both. */
  headerParams: ReadonlyArray<HeaderParam> = []
  /** The id of the upstream server's task, once the call has become one. */
  taskId: string | undefined = undefined
  /** How many downstream requests are attached. */
  attached = 0
  private readonly hints: Queue.Queue<Hint>
  private readonly questions: Array<PendingQuestion> = []
  private readonly questionAdded = Latch.makeUnsafe(false)
  private result: Exit.Exit<A, McpError.McpError> | undefined = undefined

  static readonly make = <A>(id: string, caller?: string): Effect.Effect<UpstreamCall<A>> =>
    Effect.map(Queue.sliding<Hint>(maxHints), (hints) => new UpstreamCall<A>(id, caller, hints))

  private constructor(id: string, caller: string | undefined, hints: Queue.Queue<Hint>) {
    this.id = id
    this.caller = caller
    this.hints = hints
  }

  /** Called when the upstream server has made a task of the call. */
  becomeTask(id: string): void {
    this.taskId = id
    Queue.offerUnsafe(this.hints, { _tag: "Task" })
  }

  progress(progress: number, options: ReportOptions): void {
    Queue.offerUnsafe(this.hints, { _tag: "Progress", progress, options })
  }
  log(message: LogMessageParams): void {
    Queue.offerUnsafe(this.hints, { _tag: "Log", message })
  }
  /** A notification of a method that the gateway does not know. */
  notify(method: string, params: JsonRpc.Params | undefined): void {
    Queue.offerUnsafe(this.hints, { _tag: "Notification", method, params })
  }
  /** Ends the call. Attached requests receive the result after the hints before it. */
  end(exit: Exit.Exit<A, McpError.McpError>): void {
    this.result ??= exit
    for (const question of this.questions) question.abandon(Exit.hasInterrupts(exit))
    Queue.offerUnsafe(this.hints, { _tag: "End" })
  }

  /**
   * Puts a question of the upstream server to whatever is attached, and waits for the answer. Interrupting it withdraws the question,
   * with the reason of the interruption.
   */
  ask<B>(
    method: string,
    put: Put<B>,
    { key: named, onProgress }: AskOptions = {}
  ): Effect.Effect<B, AskError | McpError.McpError | CallEnded> {
    return Effect.suspend(() => {
      const answer = Deferred.makeUnsafe<B, AskError | McpError.McpError | CallEnded>()
      /** Carries the reason. */
      const withdrawn = Deferred.makeUnsafe<Context.Context<never> | undefined>()
      // Shown to the downstream client, and the same in every round.
      const key = named ?? `${method}#${this.questions.length + 1}`
      const asking = (input: Input) =>
        Effect.matchCauseEffect(put(input, { key, onProgress }), {
          onSuccess: (value) => Deferred.succeed(answer, value),
          // A round that ends interrupts the asking; the question stays pending for the next one.
          onFailure: (cause) =>
            Cause.hasInterruptsOnly(cause) ? Effect.failCause(cause) : Deferred.failCause(answer, cause)
        })
      this.questions.push({
        abandon: (isInterrupted) => void Deferred.doneUnsafe(answer, Exit.fail(new CallEnded({ isInterrupted }))),
        isSettled: () => Deferred.isDoneUnsafe(answer) || Deferred.isDoneUnsafe(withdrawn),
        ask: (input) => untilWithdrawn(asking(input), withdrawn)
      })
      this.questionAdded.openUnsafe()
      return Effect.onExit(Deferred.await(answer), (exit) =>
        Effect.sync(() => {
          if (!Exit.isFailure(exit) || !Cause.hasInterrupts(exit.cause)) return
          const reason = CancelReason.of(exit.cause)
          const annotation = reason === undefined ? undefined : CancelReason.annotation(reason)
          Deferred.doneUnsafe(withdrawn, Exit.succeed(annotation))
        })
      )
    })
  }

  /** Passes on what arrives to a downstream request until the call ends, or becomes a task that `onTask` answers; gives the result. */
  attach<R = never>(
    { input, ...outputs }: RequestServices,
    onTask?: Effect.Effect<A, McpError.McpError, R>
  ): Effect.Effect<A, McpError.McpError, R> {
    return Effect.andThen(
      Effect.forkChild(this.askAll(input), { startImmediately: true }),
      this.relayHints(outputs, onTask)
    )
  }

  private relayHints<R>(
    { log, outbound, progress }: Omit<RequestServices, "input">,
    onTask: Effect.Effect<A, McpError.McpError, R> | undefined
  ): Effect.Effect<A, McpError.McpError, R> {
    let relayed = false
    const next: Effect.Effect<A, McpError.McpError, R> = Effect.flatMap(Queue.take(this.hints), (hint) => {
      if (hint._tag === "Task") return onTask ?? next
      if (hint._tag === "End") {
        // For other attached requests: a retry whose first try still runs.
        Queue.offerUnsafe(this.hints, hint)
        const result = this.result ?? Effect.never
        // In a write of its own: a client that reads both in one piece may take the result first, and drop the hints.
        return relayed ? Effect.andThen(Effect.yieldNow, result) : result
      }
      relayed = true
      if (hint._tag === "Notification") {
        const { method, params } = hint
        return Effect.andThen(
          Effect.map(outbound.ready, () => outbound.notify(method, params)),
          next
        )
      }
      return Effect.andThen(
        hint._tag === "Progress"
          ? progress.report(hint.progress, hint.options)
          : log.log(hint.message.level, hint.message.data, hint.message.logger),
        next
      )
    })
    return next
  }

  /** Asks every pending question, and those still to come, each in a fiber of its own. */
  private askAll(input: Input): Effect.Effect<never> {
    let next = 0
    return Effect.suspend(() => {
      this.questionAdded.closeUnsafe()
      const pending = this.questions.slice(next).filter((question) => !question.isSettled())
      next = this.questions.length
      return Effect.andThen(
        Effect.forEach(pending, (question) => Effect.forkChild(question.ask(input), { startImmediately: true }), {
          discard: true
        }),
        this.questionAdded.await
      )
    }).pipe(Effect.forever)
  }
}

/** Runs `asking` until it ends or the question is withdrawn, which interrupts it with the reason. */
const untilWithdrawn = (
  asking: Effect.Effect<unknown, unknown>,
  withdrawn: Deferred.Deferred<Context.Context<never> | undefined>
): Effect.Effect<void> =>
  Effect.flatMap(Effect.forkChild(asking, { startImmediately: true }), (fiber) =>
    Effect.raceFirst(
      Fiber.join(fiber),
      Effect.map(Deferred.await(withdrawn), (reason) => fiber.interruptUnsafe(undefined, reason))
    )
  ).pipe(Effect.asVoid, Effect.orDie)
