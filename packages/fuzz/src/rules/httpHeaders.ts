/** Rules of 2026-07-28 over Streamable HTTP: the headers that mirror the request, and status codes. */
import { parse as headerParams } from "@effect-mcp/protocol/HeaderParams"
import * as Headers from "@effect-mcp/protocol/Headers"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { type Call, isStream } from "../model/Call.ts"
import { type Model } from "../model/Model.ts"
import type { Answer } from "../model/Observation.ts"
import type { RuleHandlers, Rule, Verdict } from "../model/Rule.ts"
import { isForeign, responded, told } from "./http.ts"
import { infoOf, show, showAnswer, violated, wrongParams } from "./judge.ts"
import { at } from "../model/json.ts"

const common = { since: "2026-07-28", transport: "http" } as const
const page = "basic/transports/streamable-http"

/** Judges responses to valid requests with a known method. */
const answered = (check: (call: Call, answer: Answer | undefined, model: Model) => Verdict): RuleHandlers => ({
  Finished: ({ call }, model) => {
    const { exchange } = call
    if (exchange === undefined || !exchange.wellFormed || exchange.cancelled) return undefined
    const fits = infoOf(exchange.method) !== undefined && wrongParams(exchange, model) === undefined
    return fits ? check(call, exchange.answer, model) : undefined
  }
})

const declared = ({ exchange }: Call): unknown => at(exchange?.params, "_meta", Meta.protocolVersion)

const tell = ({ status }: Call, answer: Answer | undefined): string =>
  `status ${status} and ${answer === undefined ? "no response" : showAnswer(answer)}`

const refused = (call: Call, answer: Answer | undefined, code: number): boolean =>
  call.status === 400 && answer?._tag === "Error" && answer.code === code

/** Explains how the headers that mirror the method and the name differ from the body. */
const disagreement = ({ body, headers }: { readonly body: unknown; readonly headers: Headers.Headers }) => {
  const message = JsonRpc.classify(body)
  if (JsonRpc.isInvalid(message) || !JsonRpc.isRequest(message)) return undefined
  const meta = at(message.params, "_meta", Meta.protocolVersion)
  // Separate rules check the version.
  return typeof meta === "string" ? Headers.mismatch({ ...headers, [Headers.version]: meta }, message) : undefined
}

const sentBody = ({ exchange }: Call): unknown =>
  exchange && { jsonrpc: "2.0", id: exchange.id, method: exchange.method, params: exchange.params }

/** Judges requests whose method or name header is wrong. */
const disagreeing = (check: (call: Call, answer: Answer | undefined, wrong: string) => Verdict): RuleHandlers =>
  answered((call, answer) => {
    if (call.headers[Headers.version] !== declared(call)) return undefined
    const wrong = disagreement({ headers: call.headers, body: sentBody(call) })
    return wrong === undefined ? undefined : check(call, answer, wrong)
  })

const status = (wanted: number, code: number): RuleHandlers =>
  answered((call, answer) => {
    if (answer?._tag !== "Error" || answer.code !== code || !call.right) return undefined
    return call.status === wanted ? "pass" : violated(`${told(call)} is answered with ${tell(call, answer)}`)
  })

const versions: ReadonlyArray<Rule> = [
  {
    ...common,
    name: "http-version-mismatch",
    level: "MUST",
    requirement: "http.version.mismatch",
    section: `${page}#protocol-version-header`,
    text: "A version header that differs from the body gets 400 and error -32020.",
    on: answered((call, answer, { revision }) => {
      const [header, body] = [call.headers[Headers.version], declared(call)]
      if (header === undefined || body !== revision.version || header === body) return undefined
      return refused(call, answer, McpError.HeaderMismatch)
        ? "pass"
        : violated(`The header ${show(header)} with ${show(body)} in the body gets ${tell(call, answer)}`)
    })
  },
  {
    ...common,
    name: "http-version-unsupported",
    level: "MUST",
    requirement: "http.version.unsupported",
    section: `${page}#protocol-version-header`,
    text: "A version that the server does not support gets 400 and error -32022.",
    on: answered((call, answer) => {
      const version = declared(call)
      // Only dates that no revision has.
      if (typeof version !== "string" || !/^(?:19|99)/.test(version) || call.headers[Headers.version] !== version)
        return undefined
      return refused(call, answer, McpError.UnsupportedProtocolVersion)
        ? "pass"
        : violated(`The version ${show(version)} gets ${tell(call, answer)}`)
    })
  },
  {
    ...common,
    name: "http-version-missing",
    level: "MUST",
    requirement: "http.version.missing",
    section: `${page}#protocol-version-header`,
    text: "A request without a version header is rejected, unless the server also supports a version without one.",
    on: answered((call, answer, { revision }) => {
      if (call.headers[Headers.version] !== undefined || declared(call) !== revision.version) return undefined
      // Results of older versions have no `resultType`.
      return answer?._tag === "Result" && at(answer.result, "resultType") !== undefined
        ? violated(`${told(call)} without the header gets ${tell(call, answer)}`)
        : "pass"
    })
  }
]

const mirrors: ReadonlyArray<Rule> = [
  {
    ...common,
    name: "http-headers-validated",
    level: "MUST",
    requirement: "http.headers.validated",
    section: `${page}#server-validation`,
    text: "Headers that differ from the body are rejected.",
    on: disagreeing((call, answer, wrong) =>
      answer?._tag === "Result" ? violated(`${told(call)}: ${wrong}; it gets ${tell(call, answer)}`) : "pass"
    )
  },
  {
    ...common,
    name: "http-headers-mismatch",
    level: "MUST",
    requirement: "http.headers.mismatch",
    section: `${page}#server-validation`,
    text: "Missing, malformed and differing headers get 400 and error -32020.",
    on: disagreeing((call, answer, wrong) =>
      refused(call, answer, McpError.HeaderMismatch)
        ? "pass"
        : violated(`${told(call)}: ${wrong}; it gets ${tell(call, answer)}`)
    )
  },
  {
    ...common,
    name: "http-headers-decoded",
    level: "MUST",
    requirement: "http.headers.decoded",
    section: `${page}#server-validation`,
    text: "Encoded header values are decoded before they are compared.",
    on: answered((call, answer) => {
      const name = call.headers[Headers.name]
      if (name?.startsWith("=?base64?") !== true || call.headers[Headers.version] !== declared(call)) return undefined
      if (disagreement({ headers: call.headers, body: sentBody(call) }) !== undefined) return undefined
      return answer?._tag === "Error" && answer.code === McpError.HeaderMismatch
        ? violated(`The header ${name} of ${told(call)} gets ${tell(call, answer)}`)
        : "pass"
    })
  },
  {
    ...common,
    name: "http-params-mismatch",
    level: "MUST",
    requirement: "http.params.mismatch",
    section: `${page}#server-behavior-for-custom-headers`,
    text: "A header value that differs from the body gets 400 and error -32020.",
    on: answered((call, answer, { tools }) => {
      const { exchange, headers } = call
      const tool = exchange?.method === "tools/call" ? tools.get(String(at(exchange.params, "name"))) : undefined
      if (tool === undefined || headers[Headers.version] !== declared(call)) return undefined
      const wrong = Headers.paramMismatch(
        headers,
        headerParams(tool.inputSchema).params,
        at(exchange?.params, "arguments")
      )
      // The specification does not cover headers without an argument.
      if (wrong === undefined || wrong.endsWith("but the argument is missing")) return undefined
      return refused(call, answer, McpError.HeaderMismatch)
        ? "pass"
        : violated(`A call of ${tool.name}: ${wrong}; it gets ${tell(call, answer)}`, tool.name)
    })
  }
]

const statuses: ReadonlyArray<Rule> = [
  {
    ...common,
    name: "http-method-unknown",
    level: "MUST",
    requirement: "http.method.unknown",
    section: `${page}#protocol-version-header`,
    text: "A method that the server does not have gets 404 and error -32601.",
    on: {
      Finished: ({ call }) => {
        const { exchange, right } = call
        if (exchange === undefined || !exchange.wellFormed || !right || exchange.cancelled) return undefined
        const { answer, method } = exchange
        // Only methods that no server has.
        if (!method.startsWith("fuzz/") && method !== "constructor") return undefined
        return call.status === 404 && answer?._tag === "Error" && answer.code === McpError.MethodNotFound
          ? "pass"
          : violated(`${told(call)} is answered with ${tell(call, answer)}`)
      }
    }
  },
  {
    ...common,
    name: "http-missing-field",
    level: "MUST",
    requirement: "http.status.missing-field",
    section: "basic#meta",
    text: "A request without a required field of `_meta` gets status 400.",
    on: {
      Finished: ({ call }, { revision }) => {
        const { exchange } = call
        if (exchange === undefined || !exchange.wellFormed || !call.right || infoOf(exchange.method) === undefined)
          return undefined
        if (declared(call) !== revision.version || at(exchange.params, "_meta", Meta.clientCapabilities) !== undefined)
          return undefined
        return call.status === 400
          ? "pass"
          : violated(`${told(call)} without the client's capabilities is answered with status ${call.status}`)
      }
    }
  },
  {
    ...common,
    name: "http-missing-capability",
    level: "MUST",
    requirement: "http.status.missing-capability",
    section: "basic#meta",
    text: "Error -32021 has status 400.",
    on: status(400, McpError.MissingClientCapability)
  },
  {
    ...common,
    name: "http-origin-forbidden",
    level: "MUST",
    requirement: "http.origin.forbidden",
    section: "basic/transports#security-warning",
    text: "A request whose `Origin` is present and invalid is answered with status 403.",
    since: "2025-11-25",
    on: responded((call) =>
      !isForeign(call)
        ? undefined
        : call.status === 403
          ? "pass"
          : violated(`${told(call)} is answered with status ${call.status}`)
    )
  },
  {
    ...common,
    name: "http-not-buffered",
    level: "SHOULD",
    requirement: "http.post-stream.not-buffered",
    section: `${page}#receiving-messages`,
    text: "A stream is opened with the header `X-Accel-Buffering: no`.",
    on: responded((call) =>
      !isStream(call)
        ? undefined
        : call.answered["x-accel-buffering"] === "no"
          ? "pass"
          : violated(`The stream of ${told(call)} has no such header`)
    )
  },
  {
    ...common,
    name: "http-no-session",
    level: "SHOULD",
    requirement: "http.compatibility.session-id-ignored",
    section: `${page}#earlier-streamable-http-revisions`,
    text: "A server without sessions ignores `Mcp-Session-Id`.",
    on: responded((call) =>
      call.method !== "POST" || declared(call) !== "2026-07-28"
        ? undefined
        : call.answered["mcp-session-id"] === undefined
          ? "pass"
          : violated(`${told(call)} is answered with the session id ${show(call.answered["mcp-session-id"])}`)
    )
  }
]

export const httpHeaders: ReadonlyArray<Rule> = [...versions, ...mirrors, ...statuses]
