/**
 * What rules have in common: short forms of verdicts, and questions about a request that many of them ask.
 */
import * as Codecs from "@effect-mcp/protocol/Codecs"
import type { ClientRequestInfo } from "@effect-mcp/protocol/MethodInfo"
import type { MethodCodec } from "@effect-mcp/protocol/Revision"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import { InvalidParams } from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { type Model } from "../model/Model.ts"
import type { Answer, Exchange } from "../model/Observation.ts"
import type { RuleHandlers, Verdict, Violation } from "../model/Rule.ts"
import { at } from "../model/json.ts"

export const violated = (detail: string, about?: string): Violation => ({ detail, about })

/** JSON for a report: one line, cut. */
export const show = (json: unknown): string => {
  const text = JSON.stringify(json) ?? "nothing"
  return text.length > 160 ? `${text.slice(0, 160)}…` : text
}

export const showAnswer = (answer: Answer): string =>
  answer._tag === "Result" ? `the result ${show(answer.result)}` : `error ${answer.code} ${show(answer.message)}`

/** Responses to requests of one method that are well-formed and sent in an open conversation. */
export const answered = (
  method: string,
  check: (exchange: Exchange, answer: Answer, model: Model) => Verdict
): RuleHandlers => ({
  Answered: ({ answer, exchange }, model) =>
    exchange.method === method && exchange.wellFormed && exchange.open ? check(exchange, answer, model) : undefined
})

/** Results of one method. */
export const result = (
  method: string,
  check: (result: unknown, exchange: Exchange, model: Model) => Verdict
): RuleHandlers =>
  answered(method, (exchange, answer, model) =>
    answer._tag === "Result" ? check(answer.result, exchange, model) : undefined
  )

/** The request is answered with an error of this code. */
export const refused = (answer: Answer, code: number, why: string, about?: string): Verdict =>
  answer._tag === "Error" && answer.code === code
    ? "pass"
    : violated(`${why} is answered with ${showAnswer(answer)}; error ${code} was expected`, about)

/** Whether a request about a task that the server never gave is refused. */
export const refusedUnknown = (answer: Answer, { method }: Exchange, id: string): Verdict =>
  refused(answer, InvalidParams, `${method} of the unknown task ${show(id)}`, method)

/** By revision. */
const codecs = new WeakMap<object, ReadonlyMap<string, MethodCodec<unknown, unknown>>>()

/** The coders of a method in the revision of the model. */
const codersOf = ({ revision }: Model, method: string): Codecs.Coders<unknown, unknown> | undefined => {
  const known =
    codecs.get(revision) ?? new Map<string, MethodCodec<unknown, unknown>>(Object.entries(revision.clientRequests))
  codecs.set(revision, known)
  const codec = known.get(method)
  return codec && Codecs.coders(codec)
}

const misfit = (coder: Codecs.Coder<unknown> | undefined, value: unknown): string | undefined => {
  const exit = coder && Effect.runSyncExit(coder.decode(value))
  return exit && Option.getOrUndefined(Exit.findErrorOption(exit))
}

/** Why the params of a request do not fit its method; undefined where they do, and for methods that are not known. */
export const wrongParams = ({ method, params }: Exchange, model: Model): string | undefined => {
  return misfit(codersOf(model, method)?.params, params)
}

/** Why a result does not fit its method. */
export const wrongResult = (method: string, value: unknown, model: Model): string | undefined => {
  return misfit(codersOf(model, method)?.result, value)
}

export const infoOf = (method: string): ClientRequestInfo | undefined => MethodInfo.ofRequest(method)

/** Whether what the request names is known: its answer then depends on the server's own code, which may take its time. */
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

/** Whether the URI is listed, or could be one of a template. */
export const mayExist = (uri: string, model: Model): boolean =>
  !model.knows("resources") ||
  model.resources.has(uri) ||
  [...model.templates].some((template) => uri.startsWith(template.split("{")[0] ?? ""))

/** Whether a capability is declared; it is dotted where it is a part of one. */
export const declares = (capabilities: unknown, capability: string): boolean => {
  const value = at(capabilities, ...capability.split("."))
  return capability.includes(".") ? value === true : value !== undefined
}
