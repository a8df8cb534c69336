/**
 * The questions and steps of one round: what a handler's `ClientInput` does while the handler is replayed on a journal.
 *
 * Owns the keys of questions, the answers that are known, the steps that ran, and how long a round waits for siblings that may ask.
 * Running and interrupting the handler is `Replay`'s.
 */
import {
  type ClientDeclaration,
  CapabilityMissing,
  type ClientInput,
  type ExtensionQuestion,
  type QuestionMethod,
  type Recorded
} from "@effect-mcp/core/ClientInput"
import { missingCapability } from "@effect-mcp/core/internal/question"
import { questionKey, questionName } from "@effect-mcp/core/internal/questionKey"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type { MethodCodec } from "@effect-mcp/protocol/Revision"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import * as Schema from "effect/Schema"
import type { RoundJournal } from "./Journal.ts"

/** A question as it is sent to the client. */
export interface RoundQuestion {
  readonly method: string
  readonly params: unknown
}

/** Whether a fiber is inside a `Once` step. */
const InStep = Context.Reference<boolean>("@effect-mcp/server/mrtr/InStep", { defaultValue: () => false })

export interface Options {
  readonly journal: RoundJournal
  /** What may be asked. */
  readonly client: ClientDeclaration
  /** How long a `Once` step may take, in milliseconds. */
  readonly stepTimeout: number
  /** Answers by name that came before their question; each counts once, for a question whose handler gave it that name. */
  readonly prematureResponses: { readonly [name: string]: unknown }
  /** Called when a question is asked. */
  readonly onAsked: () => void
  /** Whether a fiber of the round is ready to run. */
  readonly isReady: () => boolean
}

/** A question that was not asked in this round yet. */
interface NewQuestion {
  readonly method: string
  /** The encoded params. */
  readonly params: unknown
  /** Its answer's key in the journal. */
  readonly key: string
  /** The name that the client sees: what the handler gave, else the question's own. */
  readonly name: string
  /** Whether siblings that ask it get one answer. */
  readonly isSameForAll: boolean
}

/**
 * Turns of the scheduler: a guess at whether a sibling is about to ask, which only groups questions. A question that is missed is asked
 * in the next round.
 */
const quietTurns = 8
/** How many turns a round waits without a change while one of its fibers is ready in each. */
const busyTurns = 64

const suspend: Effect.Effect<never> = Effect.interruptible(Effect.never)

const askFailed = (message: string): McpError.McpError => McpError.internalError(message)

export class Questions implements Pick<ClientInput["Service"], "ask" | "askExtension" | "once"> {
  private readonly options: Options
  private readonly answers: { [key: string]: unknown }
  private readonly steps: { [name: string]: unknown }
  private readonly requests: { [key: string]: RoundQuestion } = Object.create(null)
  /** The questions of this round: name to key. */
  private readonly open = new Map<string, string>()
  private readonly usedResponses = new Set<string>()
  private readonly usedSteps = new Set<string>()
  private readonly counts = new Map<string, number>()
  private readonly noStepRuns = Latch.makeUnsafe(true)
  private runningSteps = 0
  /** Questions asked and steps recorded. */
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

  /** From now on nothing is asked or recorded. */
  end(): void {
    this.over = true
  }

  /** What is sent to the client. */
  get inputRequests(): { readonly [key: string]: RoundQuestion } {
    return this.requests
  }

  get recorded(): Recorded {
    const { answers, steps } = this
    return { answers, steps }
  }

  /** What the next round needs. */
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

  /** `ask` where the handler may ask now. */
  private mayAsk<A, E>(ask: () => Effect.Effect<A, E>): Effect.Effect<A, E | McpError.McpError> {
    return Effect.flatMap(InStep, (inStep): Effect.Effect<A, E | McpError.McpError> => {
      // Finalizers of a round that is over cannot ask.
      if (this.over) return Effect.interrupt
      // A step is never interrupted, so it cannot wait for an answer.
      return inStep ? Effect.fail(askFailed("A step must not ask: ask before it")) : ask()
    })
  }

  private questionOf(method: string, params: unknown, given: string | undefined, isSameForAll: boolean): NewQuestion {
    const name = questionName(method, params, given)
    // One question for all siblings where nothing can tell two of them apart.
    const key = questionKey(name, isSameForAll ? undefined : this.count(name))
    return { method, params, key, name: given ?? name, isSameForAll }
  }

  private count(question: string): number {
    const n = this.counts.get(question) ?? 0
    this.counts.set(question, n + 1)
    return n
  }

  /** The known answer, else suspends. */
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
    // A question whose answer does not decode is sent again.
    return Effect.catch(result.decode(answers[key]), () => send)
  }

  private send({ isSameForAll, key, method, name, params }: NewQuestion): Effect.Effect<never, McpError.McpError> {
    if (this.open.has(name)) {
      if (isSameForAll) return suspend
      return Effect.fail(askFailed(`Two questions named ${name} are open at once: give each a key of its own`))
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
      // The next round runs the step again: what a handler does after its round is over is not recorded.
      if (this.over) return Effect.interrupt
      if (this.usedSteps.has(name)) {
        return Effect.die(new Error(`Two steps of one request are named ${JSON.stringify(name)}`))
      }
      this.usedSteps.add(name)
      // Recorded as JSON, which is how the client carries it.
      const codec = JsonSchema.codec(schema)
      if (Object.hasOwn(this.steps, name)) return Effect.orDie(Schema.decodeUnknownEffect(codec)(this.steps[name]))
      const encode = Schema.encodeEffect(codec)
      const recorded = Effect.tap(Effect.provideService(effect, InStep, true), (value) =>
        Effect.map(Effect.orDie(encode(value)), (encoded) => {
          this.steps[name] = encoded
        })
      )
      return this.step(name, recorded)
      // A step and its record are one: the question of a sibling must not come between them.
    }).pipe(Effect.uninterruptible)
  }

  private step<A, E, R>(name: string, recorded: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    this.runningSteps++
    this.noStepRuns.closeUnsafe()
    return Effect.timeoutOrElse(recorded, { duration: this.options.stepTimeout, orElse: () => tooLong(name) }).pipe(
      Effect.onExit((exit) =>
        Effect.sync(() => {
          // A step that failed may be tried again under its name.
          if (Exit.isFailure(exit)) this.usedSteps.delete(name)
          else this.changes++
          if (--this.runningSteps === 0) this.noStepRuns.openUnsafe()
        })
      )
    )
  }

  /**
   * Completes when no step ran and no fiber of the round was ready for `quietTurns`, or one of both was so in `busyTurns`. A new question
   * or a recorded step begins the wait anew, since siblings may ask because of it.
   */
  get settled(): Effect.Effect<void> {
    return Effect.suspend(() => {
      let seen = this.changes
      let quiet = 0
      let busy = 0
      const stepsEnded = Effect.suspend(() => {
        const isBusy = this.runningSteps > 0 || this.options.isReady()
        quiet = isBusy ? 0 : quiet + 1
        if (isBusy) busy++
        return this.noStepRuns.await
      })
      const turn: Effect.Effect<void> = Effect.andThen(Effect.andThen(Effect.yieldNow, stepsEnded), () => {
        if (this.changes !== seen) {
          seen = this.changes
          quiet = 0
          busy = 0
        }
        return quiet >= quietTurns || busy >= busyTurns ? Effect.void : turn
      })
      return turn
    })
  }
}

const tooLong = (name: string): Effect.Effect<never> =>
  Effect.die(new Error(`The step ${JSON.stringify(name)} took too long`))
