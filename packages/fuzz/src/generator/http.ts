/** Moves over HTTP: streams and sessions, correct and wrong headers, and a second client. */
import { parse as headerParams } from "@effect-mcp/protocol/HeaderParams"
import * as Headers from "@effect-mcp/protocol/Headers"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Arbitrary from "effect/Arbitrary"
import * as Base64 from "effect/encoding/Base64"
import type { Command, Deviation, RequestCommand } from "../model/Script.ts"
import type { Survey } from "../model/Survey.ts"
import type { Move } from "./Move.ts"
import { oneOf } from "./Values.ts"

/** Deviations that are wrong or unusual in every revision. */
const odd: ReadonlyArray<Deviation> = [
  { headers: { origin: "https://fuzz.invalid" } },
  { headers: { origin: "null" } },
  { headers: { accept: "application/json" } },
  { headers: { accept: "text/plain" } },
  { headers: { "content-type": "text/plain" } },
  { headers: { "content-type": null } },
  { headers: { "x-fuzz": "x".repeat(2000) } }
]

const versions: ReadonlyArray<Deviation> = [
  { headers: { "mcp-protocol-version": "1999-01-01" } },
  { headers: { "mcp-protocol-version": "nonsense" } },
  { headers: { "mcp-protocol-version": null } }
]

const ofSessions: ReadonlyArray<Deviation> = [{ session: "none" }, { session: "unknown" }, ...versions, ...odd]

const mirrored: ReadonlyArray<Deviation> = [
  ...versions,
  { headers: { "mcp-protocol-version": "2025-11-25" } },
  { headers: { "mcp-method": null } },
  { headers: { "mcp-method": "ping" } },
  { headers: { "mcp-method": "TOOLS/LIST" } },
  { headers: { "mcp-session-id": "fuzz" } },
  { headers: { "last-event-id": "7" } },
  ...odd
]

const base64 = (text: string): string => `=?base64?${Base64.encode(text)}?=`

const names = (name: string): ReadonlyArray<Deviation> => [
  { headers: { "mcp-name": null } },
  { headers: { "mcp-name": "fuzz-other" } },
  { headers: { "mcp-name": base64(name) } },
  { headers: { "mcp-name": base64("fuzz-other") } },
  { headers: { "mcp-name": "=?base64?%%%?=" } }
]

const request = (method: string, params?: RequestCommand["params"]): RequestCommand =>
  params === undefined ? { _tag: "Request", method } : { _tag: "Request", method, params }

/** Returns wrong or unusual headers for a message. */
export const deviationsOf = ({ revision }: Survey): ReadonlyArray<Deviation> =>
  revision >= "2026" ? mirrored : ofSessions

/** Returns a request that every server answers with a result. */
export const plain = (survey: Survey): RequestCommand => request(survey.revision >= "2026" ? "server/discover" : "ping")

const listsOf = ({ capabilities }: Survey): ReadonlyArray<RequestCommand> =>
  Object.values(MethodInfo.lists).flatMap(({ capability, method }) =>
    capabilities[capability] === undefined ? [] : [request(method)]
  )

/** Returns requests that name features of the server, with and without the matching headers. */
export const named = (survey: Survey): ReadonlyArray<Command> => {
  const [uri] = survey.resources
  const tool = survey.tools.find(({ annotations }) => annotations?.destructiveHint !== true)
  const requests = [
    ...(uri === undefined ? [] : [[request("resources/read", { uri }), uri] as const]),
    // Without arguments, so that a server that misses the wrong header rejects the call instead of running it.
    ...(tool === undefined ? [] : [[request("tools/call", { name: tool.name, arguments: {} }), tool.name] as const])
  ]
  return requests.flatMap(([request, name]) => names(name).map((http): Command => ({ ...request, http })))
}

/** Returns calls whose headers differ from their arguments. */
export const mirrors = ({ tools }: Survey): ReadonlyArray<Command> =>
  tools.flatMap(({ annotations, inputSchema, name }) => {
    const param = headerParams(inputSchema).params.find(({ path, type }) => path.length === 1 && type === "string")
    const [key] = param?.path ?? []
    if (param === undefined || key === undefined || annotations?.destructiveHint === true) return []
    const header = `${Headers.paramPrefix}${param.name.toLowerCase()}`
    return [null, "fuzz-other", "=?base64?%%%?="].map((value): Command => ({
      ...request("tools/call", { name, arguments: { [key]: "fuzz" } }),
      http: { headers: { [header]: value } }
    }))
  })

export const beside = (survey: Survey): ReadonlyArray<Command> => {
  return [plain(survey), ...listsOf(survey)].map((request): Command => ({
    _tag: "Beside",
    // Both clients use the same ids, because each counts separately.
    commands: [{ _tag: "Open" }, request, { _tag: "Wait" }]
  }))
}

/** Moves over HTTP. */
export const http = (survey: Survey): ReadonlyArray<Move> => {
  const isStateless = survey.revision >= "2026"
  const requests = [plain(survey), ...listsOf(survey)]
  const deviations = deviationsOf(survey)
  const deviating = Arbitrary.map(
    Arbitrary.all([oneOf(...requests), oneOf(...deviations)]),
    ([request, http]): Command => ({ ...request, http })
  )
  const streams: ReadonlyArray<Command> = [{ _tag: "Listen" }, { _tag: "Cut" }, { _tag: "Reconnect" }]
  const both: ReadonlyArray<Move> = [
    [4, deviating],
    [2, oneOf(...beside(survey))],
    [1, oneOf<Command>({ _tag: "Notify", method: "notifications/fuzz", http: { headers: { "mcp-method": null } } })]
  ]
  if (isStateless) {
    const wrong = [...named(survey), ...mirrors(survey)]
    return [
      ...both,
      [1, oneOf<Command>({ _tag: "Cut" })],
      ...(wrong.length === 0 ? [] : [[4, oneOf(...wrong)] as const])
    ]
  }
  const removes: ReadonlyArray<Command> = [
    { _tag: "Delete" },
    { _tag: "Delete" },
    { _tag: "Delete", http: { session: "unknown" } }
  ]
  return [...both, [5, oneOf(...streams)], [1, oneOf(...removes)]]
}
