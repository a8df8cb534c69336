/**
 * The questions and steps of a round. Implements the handler's `ClientInput` while the handler is replayed from a journal.
 *
 * Owns the question keys, the known answers, the completed steps, and how long a round waits for siblings that may ask. `Replay` runs and
 * interrupts the handler.
 */
import {
  type ClientDeclaration,
  CapabilityMissing,
  type ClientInput,
  duplicateStep,
  type ExtensionQuestion,
  type QuestionMethod,
  type Recorded
} from "@effect-mcp/core/ClientInput"
import { missingCapability, questionKey, questionName } from "@effect-mcp/core/internal/questions"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type { MethodCodec } from "@effect-mcp/protocol/Revision"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import * as Schema from "effect/Schema"
import type { RoundJournal } from "./Journal.ts"
import type { RoundTasks } from "./RoundScheduler.ts"

/** A question as sent to the client. */
export interface RoundQuestion {
  readonly method: string
  readonly params: unknown
}

/** True if a fiber is inside a `Once` step. */
const InStep = Context.Reference<boolean>("@effect-mcp/server/mrtr/InStep", { defaultValue: () => false })

export interface Options {
  readonly journal: RoundJournal
  /** Decides which questions are allowed. */
  readonly client: ClientDeclaration
  /** How long a `Once` step may take, in milliseconds. */
  readonly stepTimeout: number
  /** Answers that arrived before their question, by the name the handler asks it under. Each is used once. */
  readonly prematureResponses: { readonly [name: string]: unknown }
  /** Called when a question is asked. */
  readonly onAsked: () => void
  /** The tasks of the round's fibers. */
  readonly tasks: RoundTasks
}

/** A question not yet asked in this round. */
interface NewQuestion {
  readonly method: string
  /** The encoded params. */
  readonly params: unknown
  /** Key of its answer in the journal. */
  readonly key: string
  /** The name that the client sees: the one given by the handler, or else the question's own. */
  readonly name: string
  /** True if siblings that ask the same question share one answer. */
  readonly isSameForAll: boolean
}

/**
 * How long a round waits for fibers that keep running without a question or a step, in milliseconds. A sibling that asks later does so in
 * the next round.
 */
const patience = 50
/** Turns of the scheduler after which a round ends although a sibling keeps yielding and the clock stands still. */
const mostTurns = 4096

const suspend: Effect.Effect<never> = Effect.interruptible(Effect.never)

const askFailed = (message: string): McpError.McpError => McpError.internalError(message)

export class Questions implements Pick<ClientInput["Service"], "ask" | "askExtension" | "once"> {
  private readonly options: Options
  private readonly answers: { [key: string]: unknown }
  private readonly steps: { [name: string]: unknown }
  private readonly requests: { [key: string]: RoundQuestion } = Object.create(null)
  /** This round's questions: name to key. */
  private readonly open = new Map<string, string>()
  private readonly usedResponses = new Set<string>()
  private readonly usedSteps = new Set<string>()
  private readonly counts = new Map<string, number>()
  private readonly noStepRuns = Latch.makeUnsafe(true)
  private runningSteps = 0
  /** Number of questions asked and steps recorded. */
  private changes = 0
  private over = false

  constructor(options: Options) {
    this.options = options
    this.answers = { ...options.journal.answers }
    this.steps = { ...options.journal.steps }
  }

  get isAsking(): boolean {
    return this.open.size > 0
  }

  /** Ends the round. Nothing is asked or recorded afterwards. */
  end(): void {
    this.over = true
  }

  /** Questions to send to the client. */
  get inputRequests(): { readonly [key: string]: RoundQuestion } {
    return this.requests
  }

  get recorded(): Recorded {
    const { answers, steps } = this
    return { answers, steps }
  }

  /** The next round's journal. */
  get journal(): RoundJournal {
    const { answers, open, steps } = this
    const { journal } = this.options
    return { ...journal, answers, steps, open: Object.fromEntries(open), round: journal.round + 1 }
  }

  ask<M extends QuestionMethod>(
    method: M,
    params: Method.ServerRequests[M]["params"],
    options?: { readonly key?: string | undefined }
  ): Effect.Effect<Method.ServerRequests[M]["result"], CapabilityMissing | McpError.McpError> {
    return this.mayAsk(() => {
      const { client } = this.options
      const missing = missingCapability(method, params, client)
      const codec: MethodCodec<Method.ServerRequests[M]["params"], Method.ServerRequests[M]["result"]> | undefined =
        client.revision.serverRequests[method]
      if (missing !== undefined || codec === undefined) {
        return Effect.fail(CapabilityMissing.of(missing ?? method))
      }
      const coders = Codecs.coders(codec)
      const encodeFailed = (message: string) => new CapabilityMissing({ capability: method, message })
      const isSameForAll = MethodInfo.serverRequests[method].sameForAll === true
      return Effect.flatMap(Effect.mapError(coders.params.encode(params), encodeFailed), (wire) =>
        this.answered(this.questionOf(method, wire, options?.key, isSameForAll), options?.key, coders.result)
      )
    })
  }

  askExtension<A>(
    { decode, method, params }: ExtensionQuestion<A>,
    options?: { readonly key?: string | undefined }
  ): Effect.Effect<A, McpError.McpError> {
    return this.mayAsk(() =>
      this.answered(this.questionOf(method, params, options?.key, false), options?.key, { decode })
    )
  }

  /** Runs `ask` if the handler is allowed to ask now. */
  private mayAsk<A, E>(ask: () => Effect.Effect<A, E>): Effect.Effect<A, E | McpError.McpError> {
    return Effect.flatMap(InStep, (inStep): Effect.Effect<A, E | McpError.McpError> => {
      // Finalizers cannot ask once their round is over.
      if (this.over) return Effect.interrupt
      // Steps are never interrupted, so they cannot wait for an answer.
      return inStep ? Effect.fail(askFailed("Cannot ask a question inside a step. Ask before the step starts")) : ask()
    })
  }

  private questionOf(method: string, params: unknown, given: string | undefined, isSameForAll: boolean): NewQuestion {
    const name = questionName(method, params, given)
    // If nothing distinguishes siblings' questions, they share one question.
    const key = questionKey(name, isSameForAll ? undefined : this.count(name))
    return { method, params, key, name: given ?? name, isSameForAll }
  }

  private count(question: string): number {
    const n = this.counts.get(question) ?? 0
    this.counts.set(question, n + 1)
    return n
  }

  /** Returns the known answer, or suspends. */
  private answered<A>(
    question: NewQuestion,
    given: string | undefined,
    result: { readonly decode: (answer: unknown) => Effect.Effect<A, unknown> }
  ): Effect.Effect<A, McpError.McpError> {
    const { answers } = this
    const { key } = question
    const send = Effect.suspend(() => this.send(question))
    if (!Object.hasOwn(answers, key)) {
      const { prematureResponses } = this.options
      if (given === undefined || this.usedResponses.has(given) || !Object.hasOwn(prematureResponses, given)) return send
      this.usedResponses.add(given)
      answers[key] = prematureResponses[given]
    }
    // If an answer does not decode, its question is sent again.
    return Effect.catch(result.decode(answers[key]), () => send)
  }

  private send({ isSameForAll, key, method, name, params }: NewQuestion): Effect.Effect<never, McpError.McpError> {
    if (this.open.has(name)) {
      if (isSameForAll) return suspend
      return Effect.fail(askFailed(`Duplicate question key ${name}: each open question needs its own key`))
    }
    this.open.set(name, key)
    this.requests[name] = { method, params }
    this.changes++
    this.options.onAsked()
    return suspend
  }

  once<A, E, R>(
    name: string,
    schema: Schema.Codec<A, unknown>,
    effect: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      // The next round runs the step again, because nothing that a handler does after its round is recorded.
      if (this.over) return Effect.interrupt
      if (this.usedSteps.has(name)) return Effect.die(duplicateStep(name))
      this.usedSteps.add(name)
      // Recorded as JSON, the form in which the client carries it.
      const codec = JsonSchema.codec(schema)
      if (Object.hasOwn(this.steps, name)) return Effect.orDie(Schema.decodeUnknownEffect(codec)(this.steps[name]))
      const encode = Schema.encodeEffect(codec)
      const recorded = Effect.tap(Effect.provideService(effect, InStep, true), (value) =>
        Effect.map(Effect.orDie(encode(value)), (encoded) => {
          this.steps[name] = encoded
        })
      )
      return this.step(name, recorded)
      // The step and its record are atomic, so that a sibling's question cannot come between them.
    }).pipe(Effect.uninterruptible)
  }

  private step<A, E, R>(name: string, recorded: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    this.runningSteps++
    this.noStepRuns.closeUnsafe()
    return Effect.timeoutOrElse(recorded, { duration: this.options.stepTimeout, orElse: () => tooLong(name) }).pipe(
      Effect.onExit((exit) =>
        Effect.sync(() => {
          // A failed step may be tried again under its name.
          if (Exit.isFailure(exit)) this.usedSteps.delete(name)
          else this.changes++
          if (--this.runningSteps === 0) this.noStepRuns.openUnsafe()
        })
      )
    )
  }

  /**
   * Completes when no step is running and every fiber of the round is waiting, either for an answer or for something outside the handler. A
   * sibling that is about to ask counts as ready to run. This must hold for an entire turn of the scheduler, in which settled promises
   * resume their fibers.
   */
  get settled(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { tasks } = this.options
      let seen = this.changes
      let left = patience
      let turns = 0
      while (left > 0 && turns++ < mostTurns) {
        const { scheduled } = tasks
        const start = yield* Clock.currentTimeMillis
        yield* Effect.yieldNow
        // A simulation holds tasks back until all fibers wait, so only time can advance them.
        if (tasks.ready > 0 && tasks.scheduled === scheduled) yield* Effect.sleep(1)
        left -= (yield* Clock.currentTimeMillis) - start
        const wasIdle = this.runningSteps === 0 && tasks.ready === 0 && tasks.scheduled === scheduled
        yield* this.noStepRuns.await
        if (this.changes !== seen) {
          left = patience
          turns = 0
        } else if (wasIdle) return
        seen = this.changes
      }
    })
  }
}

const tooLong = (name: string): Effect.Effect<never> =>
  Effect.die(new Error(`The step ${JSON.stringify(name)} exceeded its time limit (rounds.stepTimeout)`))
