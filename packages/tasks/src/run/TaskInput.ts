/**
 * A task's questions and steps: a `ClientInput` backed by its journal.
 *
 * A question is recorded and then waits for its answer. Anything recorded earlier returns at once, so that a handler that runs again on
 * another node continues where it stopped.
 */
import { missingCapability, questionKey, questionName } from "@effect-mcp/core/internal/questions"
import * as ClientInput from "@effect-mcp/core/ClientInput"
import { canonicalJson } from "@effect-mcp/core/internal/digest"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { MethodCodec } from "@effect-mcp/protocol/Revision"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Answer } from "../model/Task.ts"
import { type Entry, type Journal, JournalFull, type Lease, Lost } from "../store/Journal.ts"
import { RunActivity } from "./RunActivity.ts"

/** Maximum number of times to ask a question if its answer does not decode. */
const maxAttempts = 3

/** True inside a `Once` step. */
const InStep = Context.Reference<boolean>("@effect-mcp/tasks/InStep", { defaultValue: () => false })

export interface Options {
  readonly journal: Journal["Service"]
  readonly lease: Lease
  /** Entries that the task recorded before this run. */
  readonly entries: ReadonlyArray<Entry>
  /** Entries that the request recorded before it became a task. Its questions were answered then, and have no keys in the task. */
  readonly before?: ClientInput.Recorded | undefined
  /** Capabilities that the client declared when the task was created. */
  readonly client: ClientInput.ClientDeclaration
}

/** Returns the keys of steps and sleeps, which differ from the keys of questions. */
const stepKey = (name: string): string => `step:${name}`
const sleepKey = (name: string): string => `sleep:${name}`

/** Waits until a run that has lost its lease is interrupted from outside. */
const stopped = (error: Lost | JournalFull): Effect.Effect<never, McpError.McpError> =>
  error._tag === "Lost" ? Effect.never : Effect.fail(McpError.limitExceeded(error.message))

/** Defect in a step that makes its task fail with a reason. Steps have no typed error for that. */
export class TaskFailed extends Data.TaggedError("TaskFailed")<{ readonly error: McpError.McpError }> {}

const failing = <A>(effect: Effect.Effect<A, McpError.McpError>): Effect.Effect<A> =>
  Effect.catch(effect, (error) => Effect.die(new TaskFailed({ error })))

const mismatch = (name: string, message: string): McpError.McpError =>
  McpError.internalError(`Journal mismatch: the recorded value of step ${name} does not match its schema: ${message}`)

const decoded = <A>(name: string, codec: Schema.Codec<A, unknown>, value: unknown): Effect.Effect<A> =>
  failing(Effect.mapError(Schema.decodeUnknownEffect(codec)(value), ({ message }) => mismatch(name, message)))

/** Runs a step through the function that records it, and returns the recorded value. */
const recordedBy = <A, E, R, E2>(
  name: string,
  codec: Schema.Codec<A, unknown>,
  effect: Effect.Effect<A, E, R>,
  record: (step: Effect.Effect<unknown, E, R>) => Effect.Effect<Entry, E2 | Lost | JournalFull, R>
) => {
  const step = Effect.flatMap(Effect.provideService(effect, InStep, true), (value) =>
    Effect.orDie(Schema.encodeEffect(codec)(value))
  )
  // The lease may be lost. Waits for that outside the record, which is over.
  const recorded = Effect.catch(record(step), (error) =>
    error instanceof Lost || error instanceof JournalFull ? failing(stopped(error)) : Effect.fail(error)
  )
  return Effect.flatMap(recorded, (entry) => decoded(name, codec, entry._tag === "Step" ? entry.value : undefined))
}

const mustNotAsk = Effect.fail(
  McpError.internalError("Cannot ask a question inside a step. Ask before the step starts")
)

/** Counts uses of a name, starting at one. */
const counted = (counts: Map<string, number>, name: string): number => {
  const count = (counts.get(name) ?? 0) + 1
  counts.set(name, count)
  return count
}

/** A question, encoded for the client's revision. */
interface Asked<A> {
  readonly method: string
  readonly params: JsonObject
  readonly extension?: string | undefined
  readonly key: string | undefined
  /** True if everyone who asks it gets the same answer. */
  readonly sameForAll: boolean
  readonly decode: (answer: JsonObject) => Effect.Effect<A, string>
}

class TaskInput {
  readonly activity = new RunActivity()
  private readonly options: Options
  private readonly steps = new Map<string, unknown>()
  private readonly used = new Set<string>()
  /** Keys of recorded steps and sleeps that the handler has reached. */
  private readonly met = new Set<string>()
  private readonly counts = new Map<string, number>()
  /** How often each question was asked, including answers from the request. */
  private readonly earlier = new Map<string, number>()

  constructor(options: Options) {
    this.options = options
    for (const [name, value] of Object.entries(options.before?.steps ?? {})) this.steps.set(stepKey(name), value)
    for (const entry of options.entries) if (entry._tag === "Step") this.steps.set(entry.key, entry.value)
  }

  ask<M extends ClientInput.QuestionMethod>(
    method: M,
    params: Method.ServerRequests[M]["params"],
    options?: ClientInput.AskOptions
  ): Effect.Effect<Method.ServerRequests[M]["result"], ClientInput.AskError | McpError.McpError> {
    return Effect.flatMap(InStep, (inStep) => {
      if (inStep) return mustNotAsk
      const { client } = this.options
      const missing = missingCapability(method, params, client)
      const codec: MethodCodec<Method.ServerRequests[M]["params"], Method.ServerRequests[M]["result"]> | undefined =
        client.revision.serverRequests[method]
      if (missing !== undefined || codec === undefined) {
        return Effect.fail(ClientInput.CapabilityMissing.of(missing ?? method))
      }
      const coders = Codecs.coders(codec)
      return Effect.flatMap(
        Effect.mapError(
          coders.params.encode(params),
          (message) => new ClientInput.CapabilityMissing({ capability: method, message })
        ),
        (wire) =>
          this.asked({
            method,
            params: isJsonObject(wire) ? wire : {},
            key: options?.key,
            sameForAll: MethodInfo.serverRequests[method].sameForAll === true,
            decode: coders.result.decode
          })
      )
    })
  }

  askExtension<A>(
    { decode, extension, method, params }: ClientInput.ExtensionQuestion<A>,
    options?: ClientInput.AskOptions
  ): Effect.Effect<A, ClientInput.AskError | McpError.McpError> {
    const decodeAnswer = (answer: JsonObject) => Effect.mapError(decode(answer), ({ message }) => message)
    return Effect.flatMap(InStep, (inStep) =>
      inStep
        ? mustNotAsk
        : this.asked({ extension, method, params, key: options?.key, sameForAll: false, decode: decodeAnswer })
    )
  }

  /** Returns the answer from before the request became a task, or the task's answer. */
  private asked<A>(asked: Asked<A>): Effect.Effect<A, ClientInput.AskError | McpError.McpError> {
    const answers = this.options.before?.answers ?? {}
    const { key: given, method, params, sameForAll } = asked
    const name = questionName(method, params, given)
    const key = questionKey(name, sameForAll ? undefined : counted(this.earlier, name) - 1)
    const answer = Object.hasOwn(answers, key) ? answers[key] : undefined
    const ask = Effect.suspend(() => this.answered(asked, 1))
    return isJsonObject(answer) ? Effect.catch(asked.decode(answer), () => ask) : ask
  }

  private answered<A>(asked: Asked<A>, attempt: number): Effect.Effect<A, ClientInput.AskError | McpError.McpError> {
    const { journal, lease } = this.options
    const { decode, extension, method, params } = asked
    const key = this.keyOf(asked, attempt)
    const question = { method, params, ...(extension === undefined ? undefined : { extension }) }
    const recorded = journal.record(lease, { _tag: "Question", key, question })
    const answer = Effect.catch(
      Effect.flatMap(recorded, (entry) => {
        if (entry._tag !== "Question") {
          return Effect.die(
            new Error(`The key ${JSON.stringify(key)} is already used by a step. Use another key for the question`)
          )
        }
        // The handler may have chosen the key, and an earlier run may have asked another question with it.
        return entry.question === question || canonicalJson(entry.question) === canonicalJson(question)
          ? this.activity.during(key, { method }, journal.answer(lease, key))
          : Effect.undefined
      }),
      stopped
    )
    return Effect.flatMap(answer, (answer) => {
      if (answer === undefined) return this.answered(asked, attempt)
      if (answer._tag === "Error") return Effect.fail(refused(answer))
      return Effect.catch(decode(answer.result), (message) =>
        attempt < maxAttempts
          ? this.answered(asked, attempt + 1)
          : Effect.fail(McpError.internalError(`Invalid response from the client to ${method}: ${message}`))
      )
    })
  }

  /**
   * Each key is used once during a task's life. A second question with the same name, or another attempt after an invalid answer, gets
   * another key.
   */
  private keyOf({ key, method, params, sameForAll }: Asked<unknown>, attempt: number): string {
    const name = key ?? questionName(method, params)
    if (attempt === 1 && sameForAll) return name
    const count = counted(this.counts, name)
    return count === 1 ? name : `${name}#${count}`
  }

  once<A, E, R>(
    name: string,
    schema: Schema.Codec<A, unknown>,
    effect: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> {
    const { journal, lease } = this.options
    const { engine } = journal
    return this.stepOf(name, schema, (codec, key) =>
      engine === undefined
        ? Effect.tap(Effect.provideService(effect, InStep, true), (value) =>
            Effect.flatMap(Effect.orDie(Schema.encodeEffect(codec)(value)), (encoded) =>
              failing(Effect.catch(journal.record(lease, { _tag: "Step", key, value: encoded }), stopped))
            )
          )
        : recordedBy(name, codec, effect, (step) => engine.step(lease, key, step))
    )
  }

  transaction(sql: SqlClient): ClientInput.OnceInTransaction | undefined {
    const { journal, lease } = this.options
    const record = journal.transaction(sql)
    if (record === undefined) return undefined
    return (name, schema, effect) =>
      this.stepOf(name, schema, (codec, key) => recordedBy(name, codec, effect, (step) => record(lease, key, step)))
  }

  /** Returns the recorded value of the step, or runs it. */
  private stepOf<A, E, R>(
    name: string,
    schema: Schema.Codec<A, unknown>,
    run: (codec: Schema.Codec<A, unknown>, key: string) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      this.use(name)
      const codec = JsonSchema.codec(schema)
      const key = stepKey(name)
      if (this.steps.has(key)) {
        this.met.add(key)
        return decoded(name, codec, this.steps.get(key))
      }
      // A failed step may be tried again under its name.
      return Effect.tapError(this.activity.step(run(codec, key)), () => Effect.sync(() => this.used.delete(name)))
    })
  }

  /** Returns steps and sleeps that an earlier run recorded and this one did not reach. */
  unmet(): ReadonlyArray<string> {
    return this.options.entries.flatMap(({ _tag, key }) => (_tag === "Question" || this.met.has(key) ? [] : [key]))
  }

  /** Dies if the handler has already used the name. */
  private use(name: string): void {
    if (this.used.has(name)) throw ClientInput.duplicateStep(name)
    this.used.add(name)
  }

  /** Sleeps until the end time that the first attempt recorded. */
  sleep(name: string, millis: number): Effect.Effect<void> {
    const { journal, lease } = this.options
    const key = sleepKey(name)
    return Effect.gen({ self: this }, function* () {
      this.use(name)
      const now = yield* Clock.currentTimeMillis
      const known = this.options.entries.find((entry) => entry.key === key)
      const entry = known ?? { _tag: "Sleep" as const, key, until: now + millis }
      const recorded = known ?? (yield* failing(Effect.catch(journal.record(lease, entry), stopped)))
      this.met.add(key)
      const until = recorded._tag === "Sleep" ? recorded.until : now
      yield* this.activity.during(key, { until }, Effect.sleep(Math.max(0, until - now)))
    })
  }
}

const refused = (answer: Extract<Answer, { _tag: "Error" }>): ClientInput.Declined | McpError.McpError => {
  const { _tag, ...error } = answer
  return answer.code === McpError.UserRejected
    ? new ClientInput.Declined({ action: "decline", message: answer.message })
    : new McpError.McpError(error)
}

type Client = ClientInput.ClientInput["Service"]

/** The client for one run of a task, with the run's activity. */
export interface TaskClient extends Client {
  readonly activity: RunActivity
  /** Returns steps and sleeps that an earlier run recorded and this one did not reach. */
  readonly unmet: () => ReadonlyArray<string>
}

/** Creates the client for one run of a task. */
export const make = (options: Options): TaskClient => {
  const input = new TaskInput(options)
  const { task: id } = options.lease
  return {
    ask: (method, params, options) => input.ask(method, params, options),
    askExtension: (question, options) => input.askExtension(question, options),
    once: (name, schema, effect) => input.once(name, schema, effect),
    task: {
      id,
      sleep: (name, millis) => input.sleep(name, millis),
      transaction: (sql) => input.transaction(sql)
    },
    activity: input.activity,
    unmet: () => input.unmet()
  }
}
