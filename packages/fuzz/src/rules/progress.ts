/** Rules about progress notifications. */
import type { Exchange, Observations } from "../model/Observation.ts"
import type { Model } from "../model/Model.ts"
import type { Rule, Verdict } from "../model/Rule.ts"
import { show, violated } from "./judge.ts"
import { at } from "../model/json.ts"
import { taskOfCall } from "../model/TaskBook.ts"

const progress =
  (check: (exchange: Exchange | undefined, token: unknown, value: unknown) => Verdict) =>
  ({ method, params }: Observations["Told"], { ambiguous, tokens }: Model): Verdict => {
    if (method !== "notifications/progress") return undefined
    const token = at(params, "progressToken")
    const key = JSON.stringify(token ?? null)
    return ambiguous.has(key) ? undefined : check(tokens.get(key), token, at(params, "progress"))
  }

/** True if the call became a task. Its progress token then stays valid until the task ends. */
const becameTask = (exchange: Exchange): boolean =>
  exchange.answer?._tag === "Result" && taskOfCall(exchange, exchange.answer.result) !== undefined

export const progressRules: ReadonlyArray<Rule> = [
  {
    name: "progress-known-token",
    level: "MUST",
    requirement: "progress.token.from-active-request",
    section: "basic/utilities/progress#behavior-requirements",
    text: "Progress names only a token that an active request provided.",
    on: {
      Told: progress((exchange, token) =>
        exchange === undefined ? violated(`Progress has the token ${show(token)}, which no request provided`) : "pass"
      )
    }
  },
  {
    name: "progress-stops",
    level: "MUST",
    requirement: "progress.stops-after-completion",
    section: "basic/utilities/progress#implementation-notes",
    text: "No progress is sent after the operation completed.",
    on: {
      Told: progress((exchange) =>
        exchange === undefined
          ? undefined
          : exchange.answer === undefined || becameTask(exchange)
            ? "pass"
            : violated(`Progress of ${exchange.method} arrives after its response`, exchange.method)
      )
    }
  },
  {
    name: "progress-increases",
    level: "MUST",
    requirement: "progress.value.increases",
    section: "basic/utilities/progress#progress-flow",
    text: "Each progress notification reports a greater value than the one before.",
    on: {
      Told: progress((exchange, _, value) =>
        exchange?.progress === undefined || typeof value !== "number"
          ? undefined
          : value > exchange.progress
            ? "pass"
            : violated(`Progress ${value} after ${exchange.progress}`, exchange.method)
      )
    }
  }
]
