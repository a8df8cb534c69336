/** Rules of 2026-07-28: requests carry their context, results carry questions, and lists carry caching hints. */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { type Model } from "../model/Model.ts"
import type { Answer, Exchange } from "../model/Observation.ts"
import type { RuleHandlers, Rule, Verdict } from "../model/Rule.ts"
import { declares, infoOf, show, showAnswer, violated } from "./judge.ts"
import { at } from "../model/json.ts"

const since = "2026-07-28"
const interim = "input_required"

/** Judges responses to requests that declare this revision. A server of both eras treats all others as requests in a session. */
const modern = (check: (exchange: Exchange, answer: Answer, model: Model) => Verdict): RuleHandlers => ({
  Answered: ({ answer, exchange }, model) =>
    exchange.wellFormed &&
    exchange.open &&
    at(exchange.params, "_meta", Meta.protocolVersion) === model.revision.version
      ? check(exchange, answer, model)
      : undefined
})

const results = (check: (result: unknown, exchange: Exchange) => Verdict): RuleHandlers =>
  modern((exchange, answer) => (answer._tag === "Result" ? check(answer.result, exchange) : undefined))

/** Judges results that ask for input. */
const questions = (check: (result: JsonObject, exchange: Exchange) => Verdict): RuleHandlers =>
  results((result, exchange) =>
    isJsonObject(result) && result.resultType === interim ? check(result, exchange) : undefined
  )

const asked = ({ inputRequests }: JsonObject): ReadonlyArray<readonly [key: string, method: unknown]> =>
  isJsonObject(inputRequests)
    ? Object.entries(inputRequests).map(([key, question]) => [key, at(question, "method")])
    : []

const capabilityOf = (method: unknown): string | undefined =>
  typeof method === "string" ? new Map(Object.entries(MethodInfo.serverRequests)).get(method)?.capability : undefined

/** Codes between -32020 and -32099 that the specification defines. */
const allocated = new Set([
  McpError.HeaderMismatch,
  McpError.MissingClientCapability,
  McpError.UnsupportedProtocolVersion
])
const former = new Set([McpError.ResourceNotFound, McpError.UrlElicitationRequired])

const errors = (check: (code: number) => string | undefined): RuleHandlers =>
  modern(({ method }, answer) => {
    if (answer._tag === "Result") return undefined
    const wrong = check(answer.code)
    return wrong === undefined ? "pass" : violated(`${method} is answered with ${showAnswer(answer)}: ${wrong}`)
  })

const envelopes: ReadonlyArray<Rule> = [
  {
    name: "result-type",
    level: "MUST",
    requirement: "json-rpc.result.type-included",
    section: "basic#result-responses",
    text: "Every result has a `resultType`.",
    since,
    on: results((result, { method }) =>
      typeof at(result, "resultType") === "string"
        ? "pass"
        : violated(`${method} is answered with ${show(result)}`, method)
    )
  },
  {
    name: "result-names-server",
    level: "SHOULD",
    requirement: "meta.result.server-info",
    section: "basic#meta",
    text: "Every result names the server in `_meta`.",
    since,
    on: results((result, { method }) =>
      at(result, "_meta", Meta.serverInfo) !== undefined
        ? "pass"
        : violated(`${method} is answered with ${show(result)}`, method)
    )
  },
  {
    name: "error-reserved",
    level: "MUST",
    requirement: "json-rpc.error.reserved",
    section: "basic#error-codes",
    text: "No code from -32020 to -32099 is emitted that the specification does not define.",
    since,
    on: errors((code) =>
      code <= -32020 && code >= -32099 && !allocated.has(code) && !former.has(code) ? "it is not defined" : undefined
    )
  },
  {
    name: "error-former",
    level: "MUST",
    requirement: "json-rpc.error.former",
    section: "basic#error-codes",
    text: "The former codes -32002 and -32042 are not emitted.",
    since,
    on: errors((code) => (former.has(code) ? "it belongs to older revisions" : undefined))
  },
  {
    name: "server-never-asks",
    level: "MUST",
    requirement: "stateless.server.no-requests",
    section: "basic/patterns",
    text: "A server never sends a JSON-RPC request.",
    since,
    on: {
      Asked: ({ question: { method } }) => violated(`The server sends ${method}`, method),
      Alive: () => "pass"
    }
  },
  {
    name: "version-unsupported",
    level: "MUST",
    requirement: "versioning.unsupported.error",
    section: "basic/versioning#protocol-version-negotiation",
    text: "A request in a version that the server does not support gets error -32022 with the supported versions.",
    since,
    on: {
      Answered: ({ answer, exchange }) => {
        const version = at(exchange.params, "_meta", Meta.protocolVersion)
        // Only dates that no revision has.
        if (!exchange.wellFormed || !exchange.open || typeof version !== "string" || !/^(?:19|99)/.test(version))
          return undefined
        const names = answer._tag === "Error" && Array.isArray(at(answer.data, "supported"))
        return names && answer.code === McpError.UnsupportedProtocolVersion
          ? "pass"
          : violated(`${exchange.method} in ${version} is answered with ${showAnswer(answer)}`)
      }
    }
  },
  {
    name: "meta-incomplete",
    level: "MUST",
    requirement: "meta.request.malformed",
    section: "basic#meta",
    text: "A request without a required field of `_meta` gets error -32602.",
    since,
    on: modern(({ method, params }, answer) => {
      if (at(params, "_meta", Meta.clientCapabilities) !== undefined || infoOf(method) === undefined) return undefined
      return answer._tag === "Error" && answer.code === McpError.InvalidParams
        ? "pass"
        : violated(`${method} without the client's capabilities is answered with ${showAnswer(answer)}`)
    })
  },
  {
    name: "discovery-lists",
    level: "MUST",
    requirement: "discover.result.lists",
    section: "server/discover#discoverresult",
    text: "Discovery returns the server's supported versions and capabilities.",
    since,
    on: results((result, { method }) =>
      method !== "server/discover"
        ? undefined
        : Array.isArray(at(result, "supportedVersions")) && isJsonObject(at(result, "capabilities"))
          ? "pass"
          : violated(`Discovery returns ${show(result)}`)
    )
  },
  {
    name: "log-silent",
    level: "MUST",
    requirement: "logging.request.silent",
    section: "server/utilities/logging#per-request-log-level",
    text: "A request that sets no log level gets no log messages.",
    since,
    on: {
      Told: ({ method, params }, { exchanges }) =>
        method !== "notifications/message"
          ? undefined
          : exchanges.some((exchange) => at(exchange.params, "_meta", Meta.logLevel) !== undefined)
            ? "pass"
            : violated(`A log message arrives, though no request set a level: ${show(params)}`)
    }
  }
]

const caching: ReadonlyArray<Rule> = [
  {
    name: "caching-hints",
    level: "MUST",
    requirement: "caching.hints.included",
    section: "server/utilities/caching#cacheable-results",
    text: "Complete results of discovery, lists and reads carry caching hints.",
    since,
    on: results((result, { method }) =>
      infoOf(method)?.cacheable !== true || at(result, "resultType") !== "complete"
        ? undefined
        : typeof at(result, "ttlMs") === "number" && typeof at(result, "cacheScope") === "string"
          ? "pass"
          : violated(`${method} is answered with ${show(result)}`, method)
    )
  },
  {
    name: "caching-ttl",
    level: "MUST",
    requirement: "caching.ttl.not-negative",
    section: "server/utilities/caching#time-to-live-ttl-field",
    text: "The time to live of a result is never negative.",
    since,
    on: results((result, { method }) => {
      const ttl = at(result, "ttlMs")
      return typeof ttl !== "number"
        ? undefined
        : ttl >= 0
          ? "pass"
          : violated(`${method} may be cached for ${ttl} ms`, method)
    })
  },
  {
    name: "caching-not-interim",
    level: "MUST",
    requirement: "caching.hints.not-interim",
    section: "server/utilities/caching#cacheable-results",
    text: "A result that asks for input carries no caching hints.",
    since,
    on: questions(({ cacheScope, ttlMs }, { method }) =>
      ttlMs === undefined && cacheScope === undefined
        ? "pass"
        : violated(`${method} asks for input and may be cached for ${show(ttlMs)} ms`)
    )
  }
]

const rounds: ReadonlyArray<Rule> = [
  {
    name: "input-supported-method",
    level: "MUST",
    requirement: "mrtr.result.supported-methods",
    section: "basic/patterns/mrtr#supported-requests",
    text: "Only methods that may ask questions are answered with `input_required`.",
    since,
    on: questions((_, { method }) =>
      infoOf(method)?.mayAsk === true ? "pass" : violated(`${method} asks for input`, method)
    )
  },
  {
    name: "input-not-empty",
    level: "MUST",
    requirement: "mrtr.result.not-empty",
    section: "basic/patterns/mrtr#server-requirements-basic-workflow",
    text: "An `input_required` result has questions, a state or both.",
    since,
    on: questions((result, { method }) =>
      result.inputRequests === undefined && result.requestState === undefined
        ? violated(`${method} is answered with ${show(result)}`)
        : "pass"
    )
  },
  {
    name: "input-kinds",
    level: "MUST",
    requirement: "mrtr.questions.kinds",
    section: "basic/patterns/mrtr#server-requirements-basic-workflow",
    text: "A question is an elicitation, a sampling request or a request for the roots.",
    since,
    on: questions((result) => {
      const other = asked(result).find(([, method]) => capabilityOf(method) === undefined)
      return other === undefined ? "pass" : violated(`A question is of the method ${show(other[1])}`)
    })
  },
  {
    name: "input-declared",
    level: "MUST",
    requirement: "mrtr.questions.declared",
    section: "basic/patterns/mrtr#server-requirements-basic-workflow",
    text: "No question is of a kind the client did not declare.",
    since,
    on: questions((result, exchange) => {
      const wrong = asked(result).find(([, method]) => {
        const capability = capabilityOf(method)
        return capability !== undefined && !declares(exchange.declares, capability)
      })
      return wrong === undefined
        ? "pass"
        : violated(`${exchange.method} asks ${show(wrong[1])}, which was not declared`, String(wrong[1]))
    })
  }
]

export const stateless: ReadonlyArray<Rule> = [...envelopes, ...caching, ...rounds]
