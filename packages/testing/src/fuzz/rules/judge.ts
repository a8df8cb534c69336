/**
 * What rules have in common: short forms of verdicts, and questions about a request that many of them ask.
 */
import type { ClientRequestInfo } from "@effect-mcp/protocol/MethodInfo"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
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

interface Codec {
  readonly params: Schema.Decoder<unknown>
  readonly result: Schema.Decoder<unknown>
}

/** By revision. */
const codecs = new WeakMap<object, ReadonlyMap<string, Codec>>()

/** The codec of a method in the revision of the model. */
const codecOf = ({ revision }: Model, method: string): Codec | undefined => {
  const known = codecs.get(revision) ?? new Map<string, Codec>(Object.entries(revision.clientRequests))
  codecs.set(revision, known)
  return known.get(method)
}

const decoders = new WeakMap<object, (value: unknown) => Exit.Exit<unknown, Schema.SchemaError>>()

const decode = (schema: Schema.Decoder<unknown>, value: unknown): string | undefined => {
  const decoder = decoders.get(schema) ?? Schema.decodeUnknownExit(schema)
  decoders.set(schema, decoder)
  const exit = decoder(value)
  return Exit.isSuccess(exit)
    ? undefined
    : Option.getOrUndefined(Option.map(Exit.findErrorOption(exit), ({ message }) => message.replaceAll("\n", " ")))
}

/** Why the params of a request do not fit its method; undefined where they do, and for methods that are not known. */
export const wrongParams = ({ method, params }: Exchange, model: Model): string | undefined => {
  const codec = codecOf(model, method)
  return codec && decode(codec.params, params)
}

/** Why a result does not fit its method. */
export const wrongResult = (method: string, value: unknown, model: Model): string | undefined => {
  const codec = codecOf(model, method)
  return codec && decode(codec.result, value)
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
