/** Runs a client against a misbehaving server and judges the client's behaviour by the rules. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { ConversationResult } from "../search/Search.ts"
import type { TargetError } from "../target/Target.ts"
import type { Ending } from "./model/ClientModel.ts"
import { ClientJudge, type ClientObservation, type ClientRule } from "./model/ClientRule.ts"
import type { ClientTarget, Offered } from "./ClientTarget.ts"
import { HttpDouble } from "./HttpDouble.ts"
import { lines } from "./LineDouble.ts"
import { ServerDouble } from "./ServerDouble.ts"
import type { ServerScript } from "./model/ServerScript.ts"

export interface Options {
  readonly rules: ReadonlyArray<ClientRule>
  /** Time limit for the client, from start to finish, in milliseconds. Default 10000. */
  readonly patience?: number | undefined
}

/** The outcome of a conversation. */
export interface ClientPlayed extends ConversationResult {
  readonly ending: Ending
  readonly milliseconds: number
  /** Methods that the client requested. */
  readonly methods: ReadonlySet<string>
}

const hung: Ending = { kind: "hung", how: "did not exit" }

/** Time limit for a client's answer, in milliseconds. */
const longestAnswer = 2000

export const playServer = (
  target: ClientTarget,
  script: ServerScript,
  { patience = 10_000, rules }: Options
): Effect.Effect<ClientPlayed, TargetError> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const start = clock.currentTimeMillisUnsafe()
    let isOver = false
    const observe = (observation: ClientObservation): void => {
      if (!isOver) judge.judge(observation)
    }
    const double = new ServerDouble({
      script,
      transport: target.transport,
      observe,
      now: () => clock.currentTimeMillisUnsafe() - start,
      patience: Math.min(patience / 4, longestAnswer)
    })
    const judge = new ClientJudge(rules, double.model)
    const offered: Offered = {
      answer: new HttpDouble(double).handle,
      start: (process) => lines(double, process)
    }
    const ended = yield* Effect.timeoutOption(target.run(offered, script.revision), patience)
    const ending = ended._tag === "Some" ? ended.value : hung
    observe({ _tag: "Ended", ending })
    isOver = true
    double.close()
    const said = {
      from: "client",
      text: `The client ${ending.how}`,
      at: clock.currentTimeMillisUnsafe() - start
    } as const
    return {
      found: judge.found,
      counts: judge.counts,
      lines: [...double.lines, said],
      ending,
      milliseconds: said.at,
      methods: new Set(double.model.asked.map(({ method }) => method))
    }
  })
