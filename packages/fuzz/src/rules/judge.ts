/** Helpers for rules: short verdicts, and common checks of a request. */
import * as Codecs from "@effect-mcp/protocol/Codecs"
import type { ClientRequestInfo } from "@effect-mcp/protocol/MethodInfo"
import type { MethodCodec } from "@effect-mcp/protocol/Revision"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import { InvalidParams } from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { memoize } from "effect/Function"
import * as Option from "effect/Option"
import { type Model } from "../model/Model.ts"
import type { Answer, Exchange } from "../model/Observation.ts"
import type { RuleHandlers, Verdict, Violation } from "../model/Rule.ts"
import { at } from "../model/json.ts"

export const violated = (detail: string, about?: string): Violation => ({ detail, about })

/** Returns JSON for a report: one line, truncated. */
export const show = (json: unknown): string => {
  const text = JSON.stringify(json) ?? "nothing"
  return text.length > 160 ? `${text.slice(0, 160)}…` : text
}

export const showAnswer = (answer: Answer): string =>
  answer._tag === "Result" ? `the result ${show(answer.result)}` : `error ${answer.code} ${show(answer.message)}`

/** Judges responses to one method, if the request is well-formed and was sent after the handshake. */
export const answered = (
  method: string,
  check: (exchange: Exchange, answer: Answer, model: Model) => Verdict
): RuleHandlers => ({
  Answered: ({ answer, exchange }, model) =>
    exchange.method === method && exchange.wellFormed && exchange.open ? check(exchange, answer, model) : undefined
})

/** Like `answered`, but skips errors. */
export const result = (
  method: string,
  check: (result: unknown, exchange: Exchange, model: Model) => Verdict
): RuleHandlers =>
  answered(method, (exchange, answer, model) =>
    answer._tag === "Result" ? check(answer.result, exchange, model) : undefined
  )

/** Passes if the server answers with an error of this code. `why` describes the request. */
export const refused = (answer: Answer, code: number, why: string, about?: string): Verdict =>
  answer._tag === "Error" && answer.code === code
    ? "pass"
    : violated(`${why} is answered with ${showAnswer(answer)}; error ${code} was expected`, about)

/** Passes if the server rejects a request about a task that it never created. */
export const refusedUnknown = (answer: Answer, { method }: Exchange, id: string): Verdict =>
  refused(answer, InvalidParams, `${method} of the unknown task ${show(id)}`, method)

const codecsOf = memoize(
  ({ clientRequests }: Model["revision"]) =>
    new Map<string, MethodCodec<unknown, unknown>>(Object.entries(clientRequests))
)

/** Returns the coders of a method in the model's revision. */
const codersOf = ({ revision }: Model, method: string): Codecs.Coders<unknown, unknown> | undefined => {
  const codec = codecsOf(revision).get(method)
  return codec && Codecs.coders(codec)
}

const misfit = (coder: Codecs.Coder<unknown> | undefined, value: unknown): string | undefined => {
  const exit = coder && Effect.runSyncExit(coder.decode(value))
  return exit && Option.getOrUndefined(Exit.findErrorOption(exit))
}

/** Explains why the params are invalid. Returns `undefined` if they are valid or the method is unknown. */
export const wrongParams = ({ method, params }: Exchange, model: Model): string | undefined => {
  return misfit(codersOf(model, method)?.params, params)
}

/** Explains why a result is invalid. Returns `undefined` if it is valid or the method is unknown. */
export const wrongResult = (method: string, value: unknown, model: Model): string | undefined => {
  return misfit(codersOf(model, method)?.result, value)
}

export const infoOf = (method: string): ClientRequestInfo | undefined => MethodInfo.ofRequest(method)

/** True if the request names an existing feature. Its answer then depends on the author's code, which may be slow. */
export const reachesHandler = (exchange: Exchange, model: Model): boolean => {
  const { method, params } = exchange
  const name = at(params, "name")
  const uri = at(params, "uri")
  switch (method) {
    case "tools/call":
      return typeof name === "string" && (model.tools.has(name) || !model.knows("tools"))
    case "prompts/get":
      return typeof name === "string" && (model.prompts.has(name) || !model.knows("prompts"))
    case "tasks/result":
      return model.observed || [model.tasks, model.foreign?.tasks].some((tasks) => tasks?.get(at(params, "taskId")))
    case "resources/read":
      return typeof uri === "string" && mayExist(uri, model)
    default:
      return false
  }
}

/** True if the URI is listed or may match a template. */
export const mayExist = (uri: string, model: Model): boolean =>
  !model.knows("resources") ||
  model.resources.has(uri) ||
  [...model.templates].some((template) => uri.startsWith(template.split("{")[0] ?? ""))

/** True if a capability is declared. The name of a nested capability is dotted. */
export const declares = (capabilities: unknown, capability: string): boolean => {
  const value = at(capabilities, ...capability.split("."))
  return capability.includes(".") ? value === true : value !== undefined
}
