/** Rules about clients in 2026-07-28: declarations in `_meta`, mirrored headers, rounds of input. */
import * as MirrorHeaders from "@effect-mcp/protocol/Headers"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import type { Verdict } from "../../model/Rule.ts"
import { show, violated } from "../../rules/judge.ts"
import type { ClientRequest, ClientModel, RequestRound } from "../model/ClientModel.ts"
import type { ClientRule } from "../model/ClientRule.ts"
import { at } from "../../model/json.ts"

const since = "2026-07-28"
const page = "basic/transports/streamable-http"

const requested = (check: (asked: ClientRequest, model: ClientModel) => Verdict): ClientRule["on"] => ({
  Requested: ({ asked }, model) => (asked.method === "initialize" ? undefined : check(asked, model))
})

/** Judges requests that answer a round of questions. */
const retried = (check: (asked: ClientRequest, round: RequestRound, model: ClientModel) => Verdict): ClientRule["on"] =>
  requested((asked, model) => {
    const { params } = asked
    const isRetry = at(params, "inputResponses") !== undefined || at(params, "requestState") !== undefined
    const round = model.rounds.findLast(({ method, name }) => method === asked.method && name === at(params, "name"))
    return isRetry && round !== undefined ? check(asked, round, model) : undefined
  })

/** Requires the name in a header: unchanged, or in Base64 if it is not a plain header value. */
const mirrors = ({ method, params, sent: { headers } }: ClientRequest): Verdict => {
  const given = MirrorHeaders.of({ jsonrpc: "2.0", id: 0, method, params: isJsonObject(params) ? params : {} }, [])
  for (const [name, value] of Object.entries(given)) {
    if (name === MirrorHeaders.version) continue
    if (headers[name.toLowerCase()] !== value) {
      return violated(`${name} of ${method} is ${show(headers[name.toLowerCase()])} and not ${show(value)}`, name)
    }
  }
  return "pass"
}

export const stateless: ReadonlyArray<ClientRule> = [
  {
    name: "client-meta",
    level: "MUST",
    requirement: "meta.request.required",
    section: "basic#meta",
    text: "Every request declares its version and the client's capabilities in `_meta`.",
    since,
    on: requested(({ method, params }) => {
      const meta = at(params, "_meta")
      const isWhole =
        typeof at(meta, Meta.protocolVersion) === "string" && isJsonObject(at(meta, Meta.clientCapabilities))
      return isWhole ? "pass" : violated(`The _meta of ${method} is ${show(meta)}`)
    })
  },
  {
    name: "client-meta-info",
    level: "SHOULD",
    requirement: "meta.request.client-info",
    section: "basic#meta",
    text: "Every request names the client in `_meta`.",
    since,
    on: requested(({ method, params }) =>
      typeof at(params, "_meta", Meta.clientInfo, "name") === "string" ? "pass" : violated(`${method} does not`)
    )
  },
  {
    name: "client-mirror-headers",
    level: "MUST",
    requirement: "http.headers.standard",
    section: `${page}#standard-request-headers`,
    text: "A request carries `Mcp-Method`, and `Mcp-Name` where it names a tool, a prompt or a resource.",
    since,
    transport: "http",
    on: requested(mirrors)
  },
  {
    name: "client-version-every-post",
    level: "MUST",
    requirement: "http.version.every-post",
    section: `${page}#protocol-version-header`,
    text: "Every POST carries `MCP-Protocol-Version`.",
    since,
    transport: "http",
    on: requested(({ method, sent: { headers } }) =>
      headers["mcp-protocol-version"] === undefined ? violated(`${method} does not`) : "pass"
    )
  },
  {
    name: "client-version-matches",
    level: "MUST",
    requirement: "http.version.matches-body",
    section: `${page}#protocol-version-header`,
    text: "The version header matches the version in `_meta`.",
    since,
    transport: "http",
    on: requested(({ params, sent: { headers } }) => {
      const [header, body] = [headers["mcp-protocol-version"], at(params, "_meta", Meta.protocolVersion)]
      if (header === undefined || body === undefined) return undefined
      return header === body ? "pass" : violated(`It is ${show(header)}, but the body has ${show(body)}`)
    })
  },
  {
    name: "client-state-echoed",
    level: "MUST",
    requirement: "mrtr.client.state-echoed",
    section: "basic/patterns/mrtr#client-requirements-basic-workflow",
    text: "A retry carries the state exactly as it was received.",
    since,
    on: retried(({ params }, { state }) => {
      if (state === undefined) return undefined
      const given = at(params, "requestState")
      return given === state ? "pass" : violated(`It is ${show(given)} instead of ${show(state)}`)
    })
  },
  {
    name: "client-state-not-invented",
    level: "MUST",
    requirement: "mrtr.client.state-not-invented",
    section: "basic/patterns/mrtr#client-requirements-basic-workflow",
    text: "A retry carries no state if the result had none.",
    since,
    on: retried(({ params }, { state }) => {
      if (state !== undefined) return undefined
      const given = at(params, "requestState")
      return given === undefined ? "pass" : violated(`It has the state ${show(given)}`)
    })
  },
  {
    name: "client-retry-new-id",
    level: "MUST",
    requirement: "mrtr.client.new-id",
    section: "basic/patterns/mrtr#client-requirements-basic-workflow",
    text: "A retry has a different id than the previous attempt.",
    since,
    on: retried(({ id }, round) =>
      JSON.stringify(id) === JSON.stringify(round.id) ? violated(`Both have ${show(id)}`) : "pass"
    )
  },
  {
    name: "client-answers-all",
    level: "MUST",
    requirement: "mrtr.client.answers-all",
    section: "basic/patterns/mrtr#client-requirements-basic-workflow",
    text: "A client has answers to all questions before it retries.",
    since,
    on: retried(({ params }, { keys }) => {
      const missing = keys.find((key) => at(params, "inputResponses", key) === undefined)
      return missing === undefined ? "pass" : violated(`The answer to ${show(missing)} is missing`)
    })
  },
  {
    name: "client-tool-excluded",
    level: "MUST",
    requirement: "tools.header.excluded",
    section: "server/tools#x-mcp-header",
    text: "A tool with an invalid header annotation is missing from the client's list.",
    since,
    transport: "http",
    on: requested(({ method, params }, { forbidden }) =>
      method !== "tools/call" || forbidden.size === 0
        ? undefined
        : forbidden.has(String(at(params, "name")))
          ? violated(`${show(at(params, "name"))} is called`)
          : "pass"
    )
  },
  {
    name: "client-ref-not-fetched",
    level: "MUST",
    requirement: "json-schema.ref.not-fetched",
    section: "basic#ref-resolution",
    text: "A `$ref` to a network address is never fetched automatically.",
    since,
    transport: "http",
    on: {
      Sent: ({ sent: { method, path } }) =>
        path.endsWith("/fuzz-schema.json") ? violated(`${method} ${path}`) : undefined
    }
  }
]
