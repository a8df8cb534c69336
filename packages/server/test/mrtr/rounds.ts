/** Plays the client of a replayed handler: answers what is asked, round after round. */
import { ClientInput } from "@effect-mcp/core/ClientInput"
import { Elicitation, proxy } from "@effect-mcp/core/Elicitation"
import { Roots, proxy as rootsProxy } from "@effect-mcp/core/Roots"
import { Sampling, proxy as samplingProxy } from "@effect-mcp/core/Sampling"
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as Revision from "@effect-mcp/protocol/Revision"
import { Context, Effect, Exit } from "effect"
import * as Journal from "../../src/mrtr/Journal.ts"
import * as Replay from "../../src/mrtr/Replay.ts"

export const everything: ClientCapabilities = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {}, context: {} },
  roots: {}
}

type Asking = ClientInput | Elicitation | Sampling | Roots

const revision = Revision.get("2026-07-28") ?? Revision.latestStateful

/** One round, with the services that ask through it. */
export const round = <A, E>(
  handler: Effect.Effect<A, E, Asking>,
  journal: Journal.RoundJournal = Journal.empty,
  capabilities: ClientCapabilities = everything
) => {
  const replayed = new Replay.Round(journal, { revision, capabilities }, 1000)
  const { input } = replayed
  const services = Context.make(ClientInput, input).pipe(
    Context.add(Elicitation, proxy(input, { form: true, url: true })),
    Context.add(Sampling, samplingProxy(input, { tools: true, context: true })),
    Context.add(Roots, rootsProxy(input, undefined))
  )
  return replayed.run(Effect.provideContext(handler, services))
}

export type Answers = (request: Replay.InputRequest, key: string) => unknown

/** Runs rounds until the handler is done; says what was asked in each. An answer of `undefined` is not sent. */
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
    // What a client carries is text.
    journal = Journal.settle(JSON.parse(JSON.stringify(outcome.journal)), responses)
  }
  return { exit: Exit.die("too many rounds"), asked }
})

export const messageOf = (request: Replay.InputRequest): string =>
  String((request.params as { readonly message?: unknown } | undefined)?.message)

export const accept = (content: Record<string, unknown>) => ({ action: "accept", content })
