/** Requests about tools' views, by clients with and without MCP Apps (extension `io.modelcontextprotocol/ui`). */
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import type { Command } from "../model/Script.ts"
import type { Survey } from "../model/Survey.ts"
import { uiOf, viewOf, viewsOf, withViews } from "../model/views.ts"
import { example } from "./example.ts"
import type { Move } from "./Move.ts"
import type { Callable } from "./tasks.ts"
import { oneOf } from "./Values.ts"

const isJson = Schema.is(Schema.Json)

const request = (method: string, params: object): Command => ({
  _tag: "Request",
  method,
  ...(isJson(params) && { params })
})

/** Maximum number of views to read and of their tools to call. */
const most = 8

const listed = { _tag: "Request", method: "tools/list" } as const
const shown = request("tools/list", { _meta: withViews })

const viewUris = ({ resources, tools }: Survey): ReadonlyArray<string> =>
  [...new Set([...viewsOf(tools), ...resources.filter((uri) => uri.startsWith("ui://"))])].slice(0, most)

const reads = (uris: ReadonlyArray<string>): ReadonlyArray<Command> =>
  uris.map((uri) => request("resources/read", { uri }))

/** URIs that a careless server resolves to another resource. */
const hostile = (uri: string): ReadonlyArray<string> => [
  "ui://fuzz-none",
  `${uri}/../../etc/passwd`,
  `${uri}%2f..%2f..%2fetc%2fpasswd`,
  `${uri}%00`
]

const hasViews = (survey: Survey): boolean =>
  survey.revision >= "2026" && survey.tools.some((tool) => uiOf(tool) !== undefined || viewOf(tool) !== undefined)

/** The tools that have a view, or that views may call. */
const linked = (callable: ReadonlyArray<Callable>): ReadonlyArray<Callable> =>
  callable.filter(({ tool }) => uiOf(tool) !== undefined || viewOf(tool) !== undefined).slice(0, most)

/** Returns moves with views, or none if no tool has one. */
export const views = (survey: Survey, callable: ReadonlyArray<Callable>): ReadonlyArray<Move> => {
  if (!hasViews(survey)) return []
  const uris = viewUris(survey)
  const calls = linked(callable).map(({ tool: { name }, values }): Move => [
    1,
    Arbitrary.map(values, (args) => request("tools/call", { name, arguments: args ?? {}, _meta: withViews }))
  ])
  return [
    [2, oneOf<Command>(listed, shown, { _tag: "Request", method: "resources/list" })],
    [3, oneOf(shown, ...reads([...uris, ...uris, ...uris.slice(0, 2).flatMap(hostile)]))],
    ...calls
  ]
}

const wait: Command = { _tag: "Wait" }

/** Returns short conversations that exercise every rule about views once. */
export const viewsPlan = (survey: Survey, callable: ReadonlyArray<Callable>): ReadonlyArray<ReadonlyArray<Command>> => {
  if (!hasViews(survey)) return []
  const uris = viewUris(survey)
  const calls = linked(callable).map(({ tool: { inputSchema, name } }) =>
    request("tools/call", { name, arguments: example(inputSchema), _meta: withViews })
  )
  return [
    [listed, wait, shown, wait],
    [{ _tag: "Request", method: "resources/list" }, wait, ...reads(uris).flatMap((read) => [read, wait])],
    ...reads(uris.slice(0, 1).flatMap(hostile)).map((read) => [read, wait]),
    ...calls.map((call) => [call, wait])
  ]
}
