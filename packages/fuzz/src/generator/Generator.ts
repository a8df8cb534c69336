/** Generates conversations with a server from its survey: correct, almost correct and wrong messages, in any order. */
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import * as Subscriptions from "@effect-mcp/protocol/model/Subscriptions"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import type { Answering, Command, Script } from "../model/Script.ts"
import type { Survey, SurveyedTool } from "../model/Survey.ts"
import { floods } from "./floods.ts"
import { http } from "./http.ts"
import type { Move } from "./Move.ts"
import { skills } from "./skills.ts"
import { type Callable, tasks } from "./tasks.ts"
import { almost, choose, oneOf, valid, type Values } from "./Values.ts"
import { views } from "./views.ts"

export type { Move } from "./Move.ts"
export interface Options {
  /** Whether to call tools that are marked as destructive. Default false. */
  readonly allowDestructive?: boolean | undefined
  /** Arguments by tool name. Use `never` to prevent a tool from being called. Default: generated from the tool's input schema. */
  readonly args?: { readonly [tool: string]: Values | "never" } | undefined
  /** Maximum number of moves per conversation. Default 12. */
  readonly moves?: number | undefined
  /** Number of requests in a flood. Default 50; 0 disables floods. */
  readonly flood?: number | undefined
  /** Custom commands to use in addition to the built-in ones. */
  readonly commands?: ReadonlyArray<Move> | undefined
}

const isJson = Schema.is(Schema.Json)
const json = (value: unknown): Schema.Json => (isJson(value) ? value : null)

/** Generates a request with random params. If `undefined` is drawn, the request has no params. */
export const request = (method: string, params: Values): Arbitrary.Arbitrary<Command> =>
  Arbitrary.map(params, (value): Command =>
    value === undefined ? { _tag: "Request", method } : { _tag: "Request", method, params: json(value) }
  )

const notify = (method: string, ...params: ReadonlyArray<unknown>): Arbitrary.Arbitrary<Command> =>
  Arbitrary.map(oneOf(...params), (value): Command =>
    value === undefined ? { _tag: "Notify", method } : { _tag: "Notify", method, params: json(value) }
  )

const commands = (...all: ReadonlyArray<Command>): Arbitrary.Arbitrary<Command> => oneOf(...all)

const tokens = oneOf<unknown>(undefined, undefined, "p", 7, 0, "")
/** Sometimes adds a progress token. */
const withToken = (params: Values): Values =>
  Arbitrary.map(Arbitrary.all([params, tokens]), ([params, token]) =>
    token === undefined ? params : { ...Object(params), _meta: { progressToken: token } }
  )

const unknownNames = oneOf("fuzz-no-such-name", "", "constructor", "__proto__", "toString")
export const paginated = Object.values(MethodInfo.lists)

export const junk = [
  "{",
  "nonsense",
  "[]",
  "7",
  "null",
  "{}",
  '{"jsonrpc":"2.0"}',
  '{"jsonrpc":"1.0","id":"j","method":"ping"}',
  '{"jsonrpc":"2.0","id":"never","result":{}}',
  '{"jsonrpc":"2.0","id":"never","error":{"code":1,"message":"x"}}',
  '{"jsonrpc":"2.0","method":7}',
  "   ",
  "\u0000",
  "[[[[[[[[",
  '{"jsonrpc":"2.0","id":"deep","method":"ping","params":' + '{"a":'.repeat(200) + "1" + "}".repeat(200) + "}",
  `{"jsonrpc":"2.0","id":"long","method":"ping","params":{"a":"${"x".repeat(70_000)}"}}`
] as const

const cancels = commands(
  { _tag: "Cancel", which: "newest" },
  { _tag: "Cancel", which: "oldest" },
  { _tag: "Cancel", which: "answered" }
)

export const declared = ({ capabilities }: Survey, capability: string): boolean =>
  capabilities[capability] !== undefined

/** Moves that every server must handle. */
const general = (survey: Survey): ReadonlyArray<Move> => {
  const someMethod = paginated.find(({ capability }) => declared(survey, capability))?.method ?? "ping"
  const raw = (text: string): Command => ({ _tag: "Raw", text })
  return [
    [2, request("ping", oneOf<unknown>(undefined, {}, { _meta: {} }, { _meta: { "com.example/fuzz": [1] } }))],
    [
      2,
      Arbitrary.map(
        oneOf<unknown>(0, "", -1, "0", 2 ** 53 - 1, "é\u2028", "x".repeat(300), null, 1.5, [1], {}, true),
        (id): Command => ({
          _tag: "Request",
          method: "ping",
          id: json(id)
        })
      )
    ],
    // The same id twice, probably at the same time.
    [1, commands({ _tag: "Request", method: "ping", id: "twin" }, { _tag: "Request", method: someMethod, id: "twin" })],
    [3, request(someMethod, oneOf<unknown>([], "x", 7, null, { cursor: 7 }, { _meta: 1 }))],
    [2, request("fuzz/unknown", oneOf<unknown>(undefined, {}))],
    [
      1,
      Arbitrary.map(oneOf("", "rpc.x", "constructor", "__proto__", "tools/"), (method): Command => ({
        _tag: "Request",
        method
      }))
    ],
    [1, notify("notifications/fuzz", undefined, {}, [])],
    [1, notify("notifications/cancelled", {}, { requestId: "never" }, { requestId: {} }, undefined)],
    [1, notify("notifications/progress", { progressToken: "never", progress: 1 }, { progressToken: 1 }, undefined)],
    [1, notify("notifications/roots/list_changed", undefined)],
    [1, notify(someMethod, {})],
    [3, Arbitrary.map(oneOf<string>(...junk), raw)],
    [2, cancels],
    [1, commands({ _tag: "Wait" })]
  ]
}

const lists = (survey: Survey): ReadonlyArray<Move> =>
  paginated.flatMap(({ capability, method }): ReadonlyArray<Move> => {
    const plain: Move = [1, request(method, oneOf<unknown>(undefined, {}, { _meta: { "com.example/fuzz": 1 } }))]
    if (!declared(survey, capability)) return [plain]
    const page: Move = [1, commands({ _tag: "NextPage", method })]
    return [plain, [1, request(method, oneOf({ cursor: "fuzz-invalid" }, { cursor: "%%%" }))], page]
  })

const callOf = (tool: SurveyedTool, values: Values): Arbitrary.Arbitrary<Command> =>
  request(
    "tools/call",
    withToken(
      Arbitrary.map(values, (value) => ({
        name: tool.name,
        ...(value === undefined ? undefined : { arguments: value })
      }))
    )
  )

/** The tools that may be called, with valid arguments. */
export const callable = (survey: Survey, { allowDestructive = false, args = {} }: Options) =>
  survey.tools.flatMap((tool): ReadonlyArray<Callable> => {
    const own = args[tool.name]
    if (own === "never") return []
    const destroys = tool.annotations?.destructiveHint === true
    return destroys && !allowDestructive && own === undefined ? [] : [{ tool, values: own ?? valid(tool.inputSchema) }]
  })

/** Correct requests, which reach the code of the server's author. */
const right = (survey: Survey, options: Options): ReadonlyArray<Move> => [
  ...(declared(survey, "tools") ? callable(survey, options) : []).map(({ tool, values }): Move => [
    3,
    callOf(tool, values)
  ]),
  ...(options.commands ?? [])
]

const tools = (survey: Survey, options: Options): ReadonlyArray<Move> =>
  declared(survey, "tools")
    ? [
        ...callable(survey, options).flatMap(({ tool, values }): ReadonlyArray<Move> => [
          [3, callOf(tool, values)],
          [2, callOf(tool, almost(tool.inputSchema))]
        ]),
        [
          2,
          request(
            "tools/call",
            Arbitrary.map(unknownNames, (name) => ({ name, arguments: {} }))
          )
        ],
        [2, request("tools/call", oneOf<unknown>(undefined, {}, { name: 7 }, { name: null }, { arguments: {} }))]
      ]
    : []

export const expand = (template: string): string => template.replace(/\{[^}]*\}/g, "1")

const resources = (survey: Survey): ReadonlyArray<Move> => {
  if (!declared(survey, "resources")) return []
  const known = [...survey.resources, ...survey.templates.map(expand)].slice(0, 20)
  const uris = oneOf("fuzz-none://nothing", "fuzz-none://a/b?c#d", "not a uri", "", ...known)
  const uri = Arbitrary.map(uris, (uri) => ({ uri }))
  const read: Move = [3, request("resources/read", withToken(uri))]
  const malformed: Move = [2, request("resources/read", oneOf<unknown>(undefined, {}, { uri: 7 }, { uri: null }))]
  const { subscribe } = Object(survey.capabilities.resources)
  if (subscribe !== true || survey.revision >= "2026") return [read, malformed]
  return [read, malformed, [1, request("resources/subscribe", uri)], [1, request("resources/unsubscribe", uri)]]
}

const prompts = (survey: Survey): ReadonlyArray<Move> => {
  if (!declared(survey, "prompts")) return []
  const known = survey.prompts.map((prompt): Move => {
    const args = Object.fromEntries((prompt.arguments ?? []).map(({ name }) => [name, { type: "string" }]))
    const required = (prompt.arguments ?? []).flatMap(({ name, required }) => (required === true ? [name] : []))
    const values = valid({ type: "object", properties: args, required })
    const params = Arbitrary.map(choose<unknown>(values, values, oneOf<unknown>({}, undefined)), (value) => ({
      name: prompt.name,
      ...(value === undefined ? undefined : { arguments: value })
    }))
    return [2, request("prompts/get", withToken(params))]
  })
  return [
    ...known,
    [
      2,
      request(
        "prompts/get",
        Arbitrary.map(unknownNames, (name) => ({ name }))
      )
    ],
    [1, request("prompts/get", oneOf<unknown>(undefined, {}, { name: 7 }))]
  ]
}

const utilities = (survey: Survey): ReadonlyArray<Move> => {
  const [prompt] = survey.prompts
  const [argument] = prompt?.arguments ?? []
  const refs = oneOf<unknown>(
    { type: "ref/prompt", name: prompt?.name ?? "fuzz" },
    { type: "ref/prompt", name: "fuzz-no-such-name" },
    { type: "ref/resource", uri: survey.templates[0] ?? "fuzz://{x}" },
    { type: "fuzz" },
    7
  )
  const names = oneOf<unknown>(
    { name: argument?.name ?? "a", value: "" },
    { name: "fuzz", value: "x" },
    { name: 7 },
    undefined
  )
  const complete = request(
    "completion/complete",
    Arbitrary.map(Arbitrary.all([refs, names]), ([ref, argument]) => ({
      ref,
      ...(argument === undefined ? undefined : { argument })
    }))
  )
  const levels = oneOf<unknown>(
    { level: "debug" },
    { level: "emergency" },
    { level: "warning" },
    { level: "nonsense" },
    { level: 7 },
    undefined
  )
  const completion: Move = [declared(survey, "completions") ? 2 : 1, complete]
  return survey.revision >= "2026" ? [completion] : [completion, [1, request("logging/setLevel", levels)]]
}

/** Batches, which only 2025-03-26 has, with and without correct messages. */
const batches = (survey: Survey): ReadonlyArray<Move> => {
  if (survey.revision !== "2025-03-26") return []
  const ping = { _tag: "Request", method: "ping" } as const
  const list = paginated.find(({ capability }) => declared(survey, capability))?.method ?? "ping"
  const several: ReadonlyArray<Extract<Command, { readonly _tag: "Batch" }>["members"]> = [
    [ping, { _tag: "Request", method: list }],
    [{ _tag: "Notify", method: "notifications/fuzz" }, ping],
    [{ _tag: "Request", method: "fuzz/unknown" }, ping, { _tag: "Request", method: list, params: { cursor: "%%%" } }],
    [ping],
    [
      { _tag: "Notify", method: "notifications/fuzz" },
      { _tag: "Notify", method: "notifications/fuzz" }
    ]
  ]
  const raw = oneOf("[1]", "[[]]", '[{"jsonrpc":"2.0","method":7}]', "[null]")
  return [
    [3, Arbitrary.map(oneOf(...several), (members): Command => ({ _tag: "Batch", members }))],
    [1, Arbitrary.map(raw, (text): Command => ({ _tag: "Raw", text }))]
  ]
}

/** Moves that only 2026-07-28 has: wrong declarations, rounds of input, subscriptions. */
const rounds = (survey: Survey): ReadonlyArray<Move> => {
  if (survey.revision < "2026") return []
  const resumes = commands(
    { _tag: "Resume", how: "answer" },
    { _tag: "Resume", how: "answer" },
    { _tag: "Resume", how: "omit" },
    { _tag: "Resume", how: "wrong" },
    { _tag: "Resume", how: "tamper" }
  )
  const discover = (meta: Schema.JsonObject, bare: boolean): Command => ({
    _tag: "Request",
    method: "server/discover",
    bare,
    params: { _meta: meta }
  })
  const notifications = {
    ...Subscriptions.listFilter(MethodInfo.listKinds),
    resourceSubscriptions: survey.resources.slice(0, 2)
  }
  return [
    [4, resumes],
    [1, commands(discover({ [Meta.protocolVersion]: "1999-01-01" }, false))],
    [1, commands(discover({ [Meta.protocolVersion]: survey.revision }, true))],
    [1, request("server/discover", oneOf<unknown>(undefined, {}))],
    [
      3,
      request("subscriptions/listen", oneOf<unknown>({ notifications }, { notifications }, { notifications: {} }, {}))
    ]
  ]
}

const opening = (survey: Survey): Arbitrary.Arbitrary<ReadonlyArray<Command>> => {
  const declares = oneOf<Extract<Command, { readonly _tag: "Open" }>["declares"]>(
    undefined,
    undefined,
    ["roots", "sampling", "elicitation"],
    ["roots"],
    ["elicitation"]
  )
  const answers = oneOf<Answering>("accept", "accept", "decline", "error", "malformed", "never")
  const orderly = Arbitrary.map(Arbitrary.all([declares, answers]), ([declares, answers]): ReadonlyArray<Command> => [
    declares === undefined ? { _tag: "Open" } : { _tag: "Open", declares, answers }
  ])
  if (survey.revision >= "2026") return orderly
  const odd = oneOf<ReadonlyArray<Command>>(
    [],
    [{ _tag: "Open", offer: "1999-01-01" }],
    [{ _tag: "Open", offer: "9999-12-31" }],
    [{ _tag: "Open", silent: true }],
    [{ _tag: "Open" }, { _tag: "Open" }]
  )
  // Most bugs only show after a correct handshake.
  return choose(orderly, orderly, orderly, orderly, orderly, orderly, orderly, orderly, odd)
}

const weighted = (moves: ReadonlyArray<Move>): ReadonlyArray<Arbitrary.Arbitrary<Command>> =>
  moves.flatMap(([weight, move]) => Array.from({ length: weight }, () => move))

/** Generates conversations with the surveyed server. */
export const conversations = (
  survey: Survey,
  options: Options & {
    /** Whether to generate moves for HTTP. Default false. */
    readonly overHttp?: boolean | undefined
  } = {}
): Arbitrary.Arbitrary<Script> => {
  const called = declared(survey, "tools") ? callable(survey, options) : []
  const aboutTasks = tasks(survey, called, options.overHttp)
  const aboutSkills = skills(survey)
  const offers = [
    lists(survey),
    tools(survey, options),
    resources(survey),
    prompts(survey),
    utilities(survey),
    rounds(survey),
    batches(survey),
    aboutTasks,
    aboutSkills,
    views(survey, called),
    options.overHttp === true ? http(survey) : []
  ]
  // Each group of moves has a fixed share, however many tools there are. The general moves count twice, because they vary most.
  const open = opening(survey)
  const common = general(survey)
  const groups = [common, common, ...offers, options.commands ?? []].filter(({ length }) => length > 0)
  const any = choose(...groups.map((group) => oneOf(...weighted(group))))
  const script = (move: Arbitrary.Arbitrary<Command>, least = 1) => scriptOf({ survey, options, open, move, least })
  const all = script(Arbitrary.flatMap(any, (move) => move))
  // Repeats a few moves, which soon shows bugs that depend on two of them.
  const few = Arbitrary.flatMap(Arbitrary.array(any, { minLength: 2, maxLength: 4 }), (moves) =>
    script(choose(...moves))
  )
  const work = right(survey, options)
  const own = [aboutTasks, aboutSkills].flatMap((all) => (all.length > 0 ? [script(choose(...weighted(all)), 4)] : []))
  const mixed = [all, all, all, few, few, few, ...own, ...floods(survey, open, options.flood)]
  // Only correct calls, overlapping, to find races in the author's code.
  const races = work.length > 0 ? [script(choose(...weighted([...work, [1, cancels]])), 4)] : []
  return choose(...mixed, ...races, ...races, ...races)
}

const scriptOf = ({
  least,
  move,
  open,
  options: { moves = 12 },
  survey
}: {
  readonly survey: Survey
  readonly options: Options
  readonly open: Arbitrary.Arbitrary<ReadonlyArray<Command>>
  readonly move: Arbitrary.Arbitrary<Command>
  /** Minimum number of moves. */
  readonly least: number
}): Arbitrary.Arbitrary<Script> => {
  // Half of the commands wait for their answer.
  const paced = Arbitrary.map(Arbitrary.all([move, oneOf(true, false)]), ([command, waits]): ReadonlyArray<Command> =>
    waits && command._tag === "Request" ? [command, { _tag: "Wait" }] : [command]
  )
  const body = Arbitrary.array(paced, { minLength: Math.min(least, moves), maxLength: moves })
  return Arbitrary.map(Arbitrary.all([open, body]), ([open, body]) => ({
    revision: survey.revision,
    commands: [...open, ...body.flat()]
  }))
}
