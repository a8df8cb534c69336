/** Plays the client of a replayed handler: answers its questions, round after round. */
import { ClientInput } from "@effect-mcp/core/ClientInput"
import { Elicitation, proxy } from "@effect-mcp/core/Elicitation"
import { Roots, proxy as rootsProxy } from "@effect-mcp/core/Roots"
import { Sampling, proxy as samplingProxy } from "@effect-mcp/core/Sampling"
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as Revision from "@effect-mcp/protocol/Revision"
import { Context, Deferred, Effect, Exit, Fiber } from "effect"
import * as Journal from "../../src/mrtr/Journal.ts"
import { Questions } from "../../src/mrtr/Questions.ts"
import * as Replay from "../../src/mrtr/Replay.ts"

export const everything: ClientCapabilities = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {}, context: {} },
  roots: {}
}

type Asking = ClientInput | Elicitation | Sampling | Roots

const revision = Revision.get("2026-07-28") ?? Revision.latestStateful

export type Outcome<A, E> =
  | { readonly _tag: "Complete"; readonly exit: Exit.Exit<A, E> }
  | {
      readonly _tag: "InputRequired"
      readonly requests: { readonly [key: string]: Replay.InputRequest }
      readonly journal: Journal.RoundJournal
    }

/** Runs one round with the services that ask through it. */
export const round = <A, E>(
  handler: Effect.Effect<A, E, Asking>,
  journal: Journal.RoundJournal = Journal.empty,
  capabilities: ClientCapabilities = everything
): Effect.Effect<Outcome<A, E>> =>
  Effect.gen(function* () {
    const asked = yield* Deferred.make<Questions>()
    const onAsked = (questions: Questions) => Deferred.doneUnsafe(asked, Effect.succeed(questions))
    const { input } = new Replay.Round(journal, { revision, capabilities }, 1000, onAsked)
    const services = Context.make(ClientInput, input).pipe(
      Context.add(Elicitation, proxy(input, { form: true, url: true })),
      Context.add(Sampling, samplingProxy(input, { tools: true, context: true })),
      Context.add(Roots, rootsProxy(input, undefined))
    )
    const fiber = yield* Effect.forkChild(Effect.provideContext(handler, services), { startImmediately: true })
    const settled = Effect.flatMap(Deferred.await(asked), (questions) => Effect.as(questions.settled, questions))
    const ended = Effect.map(Fiber.await(fiber), (exit) => ({ _tag: "Complete" as const, exit }))
    const outcome = yield* Effect.onInterrupt(Effect.raceFirst(ended, settled), () => Fiber.interrupt(fiber))
    if (!(outcome instanceof Questions)) return outcome
    outcome.end()
    fiber.interruptUnsafe(undefined, Replay.suspension)
    yield* Fiber.await(fiber)
    return { _tag: "InputRequired", requests: outcome.inputRequests, journal: outcome.journal }
  })

export type Answers = (request: Replay.InputRequest, key: string) => unknown

/** Runs rounds until the handler is done and returns the questions of each. An answer of `undefined` is not sent. */
export const play = Effect.fnUntraced(function* <A, E>(
  handler: Effect.Effect<A, E, Asking>,
  answers: Answers,
  limit = 10
) {
  const asked: Array<ReadonlyArray<Replay.InputRequest>> = []
  let journal: Journal.RoundJournal = Journal.empty
  for (let i = 0; i < limit; i++) {
    const outcome = yield* round(handler, journal)
    if (outcome._tag === "Complete") return { exit: outcome.exit, asked }
    asked.push(Object.values(outcome.requests))
    const responses: Record<string, unknown> = {}
    for (const [key, request] of Object.entries(outcome.requests)) {
      const answer = answers(request, key)
      if (answer !== undefined) responses[key] = answer
    }
    // A client carries the journal as text.
    journal = Journal.settle(JSON.parse(JSON.stringify(outcome.journal)), responses)
  }
  return { exit: Exit.die("too many rounds"), asked }
})

export const messageOf = (request: Replay.InputRequest): string =>
  String((request.params as { readonly message?: unknown } | undefined)?.message)

export const accept = (content: Record<string, unknown>) => ({ action: "accept", content })
