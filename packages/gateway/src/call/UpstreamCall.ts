/**
 * A request to the upstream server, along with the messages that arrive for it: progress, logs, questions and the result.
 *
 * Runs in the gateway's scope instead of the downstream request's fiber, because a request answered in rounds (2026-07-28) leaves the call
 * waiting in between. Messages go to the attached requests. While no request is attached, all questions are kept, but only a limited number
 * of hints.
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

/** Asks a client a question. */
export type Put<A> = (input: Input, options: AskOptions) => Effect.Effect<A, AskError | McpError.McpError>

/** Asks the upstream server's question in the call or session that it belongs to. */
export type PutRelated = <A>(method: string, put: Put<A>) => ReturnType<Put<A>>

/** Messages that the downstream client receives while the call runs. */
type Hint =
  | { readonly _tag: "Progress"; readonly progress: number; readonly options: ReportOptions }
  | { readonly _tag: "Log"; readonly message: LogMessageParams }
  | { readonly _tag: "Notification"; readonly method: string; readonly params: JsonRpc.Params | undefined }
  /** The upstream server has turned the call into a task. */
  | { readonly _tag: "Task" }
  | { readonly _tag: "End" }

/** Number of hints kept while no request is attached. The oldest are dropped first. */
const maxHints = 256

interface PendingQuestion {
  /** Asks the downstream client and forwards its answer. Does nothing once the question is settled. */
  readonly ask: (input: Input) => Effect.Effect<void>
  readonly isSettled: () => boolean
  /** Fails the question with `CallEnded`. */
  readonly abandon: (isInterrupted: boolean) => void
}

/** The call ended before its question was answered. The question may belong to another call on the same upstream connection. */
export class CallEnded extends Data.TaggedError("CallEnded")<{ readonly isInterrupted: boolean }> {}

/** Services of the downstream request that is attached to a call. */
interface RequestServices {
  readonly input: Input
  readonly progress: Progress["Service"]
  readonly log: Log["Service"]
  readonly outbound: Outbound
}

/** The call that a fiber runs, if known: a server without sessions asks inside the call itself. */
export const CurrentCall = Context.Reference<UpstreamCall<unknown> | undefined>("@effect-mcp/gateway/CurrentCall", {
  defaultValue: () => undefined
})

export class UpstreamCall<A> {
  readonly id: string
  /** The caller that the call counts against, or `undefined` if it has neither a name nor an address. */
  readonly caller: string | undefined
  /** The upstream request's fiber. */
  fiber: Fiber.Fiber<unknown, unknown> | undefined = undefined
  /** The upstream request's ID on the wire. */
  wireId: JsonRpc.Id | undefined = undefined
  /** Arguments that are also sent in headers. Both must agree in every round. */
  headerParams: ReadonlyArray<HeaderParam> = []
  /** ID of the upstream server's task, once the call has become a task. */
  taskId: string | undefined = undefined
  /** Number of attached downstream requests. */
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

  /** Called when the upstream server has turned the call into a task. */
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
  /** Forwards a notification whose method the gateway does not know. */
  notify(method: string, params: JsonRpc.Params | undefined): void {
    Queue.offerUnsafe(this.hints, { _tag: "Notification", method, params })
  }
  /** Ends the call. Attached requests receive the remaining hints and then the result. */
  end(exit: Exit.Exit<A, McpError.McpError>): void {
    this.result ??= exit
    for (const question of this.questions) question.abandon(Exit.hasInterrupts(exit))
    Queue.offerUnsafe(this.hints, { _tag: "End" })
  }

  /**
   * Asks the attached requests a question from the upstream server and waits for the answer. Interrupting it withdraws the question, with
   * the reason for the interruption.
   */
  ask<B>(
    method: string,
    put: Put<B>,
    { key: named, onProgress }: AskOptions = {}
  ): Effect.Effect<B, AskError | McpError.McpError | CallEnded> {
    return Effect.suspend(() => {
      const answer = Deferred.makeUnsafe<B, AskError | McpError.McpError | CallEnded>()
      /** Completes with the reason. */
      const withdrawn = Deferred.makeUnsafe<Context.Context<never> | undefined>()
      // Visible to the downstream client, and the same in every round.
      const key = named ?? `${method}#${this.questions.length + 1}`
      const asking = (input: Input) =>
        Effect.matchCauseEffect(put(input, { key, onProgress }), {
          onSuccess: (value) => Deferred.succeed(answer, value),
          // The end of a round interrupts this fiber. The question stays pending for the next round.
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

  /**
   * Forwards messages to a downstream request until the call ends, or until it becomes a task that `onTask` answers. Returns the result.
   */
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
        // For other attached requests, such as a retry whose first attempt is still running.
        Queue.offerUnsafe(this.hints, hint)
        const result = this.result ?? Effect.never
        // Sent in a separate write: a client that reads both together may process the result first and drop the hints.
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

  /** Asks every pending and future question, each in its own fiber. */
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

/** Runs `asking` until it ends, or until the question is withdrawn, which interrupts it with the reason. */
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
