/**
 * Asking without a connection to ask over (spec 2026-07-28: basic/patterns/mrtr): a handler is run again for every round, on a journal.
 *
 * A recorded question returns its answer. A new one is noted and suspends; once nothing but questions is left to do the handler is
 * interrupted, its scope closes, and the round ends with everything it asked. Code before a question therefore runs once per round;
 * `Once` steps run once per request. `Effect.catch*` around a question cannot swallow the suspension: it is an interruption.
 */
import {
  type ClientDeclaration,
  CapabilityMissing,
  type ClientInput,
  missingCapability,
  type Question
} from "@effect-mcp/core/ClientInput"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import type { MethodCodec } from "@effect-mcp/protocol/Revision"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { canonicalJson, digest, type Journal } from "./Journal.ts"

/** A question as it is sent to the client. */
export interface InputRequest {
  readonly method: Question
  readonly params: unknown
}

export type Outcome<A, E> =
  | { readonly _tag: "Complete"; readonly exit: Exit.Exit<A, E> }
  | {
      readonly _tag: "InputRequired"
      readonly requests: { readonly [key: string]: InputRequest }
      readonly journal: Journal
    }

/** Marks the interruption by which a round ends, so that a finalizer can tell it from a cancel: see `isSuspension`. */
class Suspension extends Context.Service<Suspension, true>()("@effect-mcp/server/mrtr/Suspension") {}
const suspension = Context.make(Suspension, true)
/** Whether a handler ends because its round does: it will be run again when the client has answered. */
export const isSuspension = <E>(cause: Cause.Cause<E>): boolean =>
  cause.reasons.some((reason) => Cause.isInterruptReason(reason) && reason.annotations.has(Suspension.key))

/** Whether a fiber is inside a `Once` step. */
const InStep = Context.Reference<boolean>("@effect-mcp/server/mrtr/InStep", { defaultValue: () => false })

export interface Round {
  /** What the handler asks through. */
  readonly input: ClientInput["Service"]
  /** Runs the handler in a fiber of its own until it is done or has nothing left to do but wait for answers. */
  readonly run: <A, E, R>(handler: Effect.Effect<A, E, R>) => Effect.Effect<Outcome<A, E>, never, R>
}

const inputError = (message: string): McpError.McpError => McpError.internalError(message)

/** Turns of the scheduler that a round waits for siblings, once something is asked. */
const turns = 8

/**
 * One round on a settled journal. `volunteered` are answers that came with a request that was not asked yet: they count, once, for
 * questions whose handler gave them that very name.
 */
export const make = (
  journal: Journal,
  asked: ClientDeclaration,
  stepTimeout: number,
  volunteered: { readonly [name: string]: unknown } = {}
): Round => {
  let wake: (() => void) | undefined
  // Most handlers ask nothing: what it takes to ask is made when one does.
  let made: Questions | undefined
  const questions = (): Questions => (made ??= makeQuestions(journal, asked, stepTimeout, volunteered, () => wake?.()))

  /** Completes with the handler's exit, or with nothing once it asks. */
  const doneOrAsking = <A, E>(fiber: Fiber.Fiber<A, E>): Effect.Effect<Exit.Exit<A, E> | undefined> =>
    Effect.callback((resume) => {
      if (made?.asking() === true) return resume(Effect.undefined)
      wake = () => resume(Effect.undefined)
      return Effect.sync(fiber.addObserver((exit) => resume(Effect.succeed(exit))))
    })
  const settled = <A, E>(fiber: Fiber.Fiber<A, E>): Effect.Effect<Outcome<A, E>> =>
    Effect.flatMap(
      Effect.raceFirst(
        Effect.asSome(Fiber.await(fiber)),
        Effect.as(questions().settled, Option.none<Exit.Exit<A, E>>())
      ),
      (exit): Effect.Effect<Outcome<A, E>> => {
        if (Option.isSome(exit)) return Effect.succeed({ _tag: "Complete", exit: exit.value })
        questions().end()
        fiber.interruptUnsafe(undefined, suspension)
        return Effect.map(Fiber.await(fiber), questions().outcome)
      }
    )

  return {
    input: {
      ask: (method, params, options) => questions().ask(method, params, options),
      once: (name, schema, effect) => questions().once(name, schema, effect)
    },
    run: <A, E, R>(handler: Effect.Effect<A, E, R>): Effect.Effect<Outcome<A, E>, never, R> =>
      Effect.flatMap(Effect.forkChild(handler, { startImmediately: true }), (fiber) => {
        const exit = fiber.pollUnsafe()
        if (exit !== undefined) return Effect.succeed({ _tag: "Complete", exit })
        return Effect.flatMap(doneOrAsking(fiber), (exit) =>
          exit === undefined ? settled(fiber) : Effect.succeed({ _tag: "Complete", exit })
        )
      })
  }
}

interface Questions {
  readonly ask: ClientInput["Service"]["ask"]
  readonly once: ClientInput["Service"]["once"]
  readonly asking: () => boolean
  /** Completes when nothing but questions is left to do. */
  readonly settled: Effect.Effect<void>
  /** From now on nothing is asked or recorded. */
  readonly end: () => void
  /** What the round comes to, once the handler is gone. */
  readonly outcome: () => Outcome<never, never>
}

/** `wake` is called when something is asked. */
const makeQuestions = (
  journal: Journal,
  asked: ClientDeclaration,
  stepTimeout: number,
  volunteered: { readonly [name: string]: unknown },
  wake: () => void
): Questions => {
  const answers: { [key: string]: unknown } = { ...journal.answers }
  const used = new Set<string>()
  const requests: { [key: string]: InputRequest } = Object.create(null)
  const steps: { [name: string]: unknown } = { ...journal.steps }
  const counts = new Map<string, number>()
  const open = new Map<string, string>()
  const usedNames = new Set<string>()
  const noStepRuns = Latch.makeUnsafe(true)
  let running = 0
  /** Questions asked and steps ended. */
  let changes = 0
  let over = false

  const suspend: Effect.Effect<never> = Effect.interruptible(Effect.never)

  const ask = <M extends Question>(
    method: M,
    params: Method.ServerRequests[M]["params"],
    options?: { readonly key?: string | undefined }
  ): Effect.Effect<Method.ServerRequests[M]["result"], CapabilityMissing | McpError.McpError> =>
    Effect.flatMap(InStep, (inStep) => {
      // A finalizer of a round that is over has nobody to ask any more.
      if (over) return Effect.interrupt
      // A step is never interrupted, so it could not be left to wait for an answer.
      if (inStep) return Effect.fail(inputError("A step must not ask: ask before it"))
      const missing = missingCapability(method, params, asked)
      const codec: MethodCodec<Method.ServerRequests[M]["params"], Method.ServerRequests[M]["result"]> | undefined =
        asked.revision.clientRequests[method]
      if (missing !== undefined || codec === undefined) {
        return Effect.fail(CapabilityMissing.of(missing ?? method))
      }
      const coders = Codecs.coders(codec)
      return Effect.flatMap(
        Effect.mapError(
          coders.params.encode(params),
          (message) => new CapabilityMissing({ capability: method, message })
        ),
        (wire) => {
          // What is asked is part of its key, given or not: a changed question never gets the answer to what it was before.
          const question = `${options?.key ?? method}:${digest(`${method} ${canonicalJson(wire)}`)}`
          // The roots are asked for once per request, whoever wants them: they have nothing that could tell two questions apart.
          const shared = method === "roots/list"
          const key = shared ? question : `${question}#${count(question)}`
          // The client sees the key as it was given.
          const name = options?.key ?? question
          const send = Effect.suspend(() => {
            if (open.has(name)) {
              if (shared) return suspend
              return Effect.fail(inputError(`Two questions named ${name} are open at once: give each a key of its own`))
            }
            open.set(name, key)
            requests[name] = { method, params: wire }
            changes++
            wake()
            return suspend
          })
          const given = options?.key
          if (!Object.hasOwn(answers, key)) {
            if (given === undefined || used.has(given) || !Object.hasOwn(volunteered, given)) return send
            used.add(given)
            answers[key] = volunteered[given]
          }
          // An answer that is none is asked for again.
          return Effect.catch(coders.result.decode(answers[key]), () => send)
        }
      )
    })

  const count = (question: string): number => {
    const n = counts.get(question) ?? 0
    counts.set(question, n + 1)
    return n
  }

  const once = <A, E, R>(
    name: string,
    schema: Schema.Codec<A, unknown>,
    effect: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      // Code that goes on although its round is over must leave nothing behind: the next round runs it again.
      if (over) return Effect.interrupt
      if (usedNames.has(name))
        return Effect.die(new Error(`Two steps of one request are named ${JSON.stringify(name)}`))
      usedNames.add(name)
      // Recorded as JSON, which is how the client carries it.
      const codec = JsonSchema.codec(schema)
      if (Object.hasOwn(steps, name)) return Effect.orDie(Schema.decodeUnknownEffect(codec)(steps[name]))
      running++
      noStepRuns.closeUnsafe()
      const recorded = Effect.tap(Effect.provideService(effect, InStep, true), (value) =>
        Effect.map(Effect.orDie(Schema.encodeEffect(codec)(value)), (encoded) => {
          steps[name] = encoded
        })
      )
      return Effect.timeoutOrElse(recorded, { duration: stepTimeout, orElse: () => tooLong(name) }).pipe(
        Effect.onExit((exit) =>
          Effect.sync(() => {
            // One that failed was no step: it may be tried again.
            if (Exit.isFailure(exit)) usedNames.delete(name)
            changes++
            if (--running === 0) noStepRuns.openUnsafe()
          })
        )
      )
      // The body and its record are one: a sibling's question must not come between them.
    }).pipe(Effect.uninterruptible)

  /** Returns once siblings had their turn to ask, no step runs any more, and what a step ended with has had its effect. */
  const settled: Effect.Effect<void> = Effect.suspend(() => {
    const before = changes
    return Effect.andThen(Effect.repeat(Effect.yieldNow, { times: turns }), noStepRuns.await).pipe(
      Effect.andThen(Effect.suspend(() => (changes === before && running === 0 ? Effect.void : settled)))
    )
  })

  return {
    ask,
    once,
    asking: () => open.size > 0,
    settled,
    end: () => {
      over = true
    },
    outcome: () => ({
      _tag: "InputRequired",
      requests,
      journal: { ...journal, answers, steps, open: Object.fromEntries(open), round: journal.round + 1 }
    })
  }
}

const tooLong = (name: string): Effect.Effect<never> =>
  Effect.die(new Error(`The step ${JSON.stringify(name)} took too long`))
