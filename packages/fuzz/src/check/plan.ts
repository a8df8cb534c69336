/**
 * The fixed conversations of a check. Each one is as short as possible, so there is no need to shrink it when a rule is broken.
 *
 * They use the same commands as generated conversations, in the order in which the specification describes the features.
 */
import { example } from "../generator/example.ts"
import { callable, declared, expand, junk, type Options, paginated } from "../generator/Generator.ts"
import { beside, deviationsOf, mirrors, named, plain } from "../generator/http.ts"
import { skillsPlan } from "../generator/skills.ts"
import { besideCommands } from "../generator/tasks.ts"
import { viewsPlan } from "../generator/views.ts"
import { at, parse } from "../model/json.ts"
import type { Command, Script } from "../model/Script.ts"
import type { Survey, SurveyedTool } from "../model/Survey.ts"
import { extension, withTasks } from "../model/TaskBook.ts"
import { listKinds } from "@effect-mcp/protocol/MethodInfo"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { listFilter } from "@effect-mcp/protocol/model/Subscriptions"

type Commands = ReadonlyArray<Command>
type Params = Extract<Command, { readonly _tag: "Request" }>["params"]

/** Maximum number of tools, of prompts and of resources to use, and of tools to call with wrong arguments. */
const [most, mostWrong] = [8, 3]

const wait: Command = { _tag: "Wait" }
const open: Command = { _tag: "Open", declares: ["roots", "sampling", "elicitation"] }

const request = (method: string, params?: unknown): Command =>
  params === undefined
    ? { _tag: "Request", method }
    : // Values are made of JSON only.
      { _tag: "Request", method, params: JSON.parse(JSON.stringify(params)) satisfies Params }

/** Sends a request and waits for its response. */
const ask = (method: string, params?: unknown): Commands => [request(method, params), wait]

/** Returns a list method that the server declares, or else a method that every server has. */
const listOf = (survey: Survey): string =>
  paginated.find(({ capability }) => declared(survey, capability))?.method ?? plain(survey).method

/**
 * Requests that many servers never answer. A process that still owes a response isn't reused, so these requests share its last
 * conversation.
 */
const unanswerable = (survey: Survey): Commands => {
  const method = listOf(survey)
  return [{ _tag: "Open" }, { ...plain(survey), id: null }, wait, ...ask(method, []), ...ask(method, "x")]
}

const isJson = (text: string): boolean => parse(text) !== undefined

const messages = (survey: Survey): ReadonlyArray<Commands> => {
  const method = listOf(survey)
  const ids = [0, "", "7", -1, 2 ** 53 - 1, "é\u2028"]
  return [
    ask(method),
    ...ids.map((id): Commands => [{ ...plain(survey), id }, wait]),
    ask("fuzz/unknown"),
    ask("fuzz/unknown", {}),
    ask("constructor"),
    ask(method, { cursor: 7 }),
    [{ _tag: "Notify", method: "notifications/fuzz" }, wait],
    [{ _tag: "Notify", method: "notifications/cancelled", params: { requestId: "never" } }, wait],
    [{ _tag: "Notify", method: "notifications/cancelled", params: { requestId: {} } }, wait],
    [{ _tag: "Notify", method: "notifications/progress", params: { progressToken: "never", progress: 1 } }, wait],
    [{ _tag: "Flood", count: 20, request: plain(survey) }, wait]
  ]
}

/** Conversations of raw text. A server may ignore it, so each is the last conversation of its process. */
const raw = [junk.filter(isJson), junk.filter((text) => !isJson(text))].map((texts): Commands => [
  { _tag: "Open" },
  ...texts.map((text): Command => ({ _tag: "Raw", text })),
  wait
])

const stateful = ({ revision }: Survey): ReadonlyArray<Commands> => {
  if (revision >= "2026") return []
  const ping = { _tag: "Request", method: "ping" } as const
  const list = { _tag: "Request", method: "tools/list" } as const
  const batches: ReadonlyArray<Extract<Command, { readonly _tag: "Batch" }>["members"]> = [
    [ping, list],
    [{ _tag: "Notify", method: "notifications/fuzz" }, ping],
    [{ _tag: "Request", method: "fuzz/unknown" }, ping],
    [{ _tag: "Notify", method: "notifications/fuzz" }]
  ]
  return [
    ask("ping"),
    ask("ping", {}),
    ...(revision === "2025-03-26" ? [batches.flatMap((members): Commands => [{ _tag: "Batch", members }, wait])] : [])
  ]
}

const stateless = (survey: Survey): ReadonlyArray<Commands> => {
  if (survey.revision < "2026") return []
  const discover = (meta: object, bare = false): Commands => [
    { _tag: "Request", method: "server/discover", bare, params: { _meta: { ...meta } } },
    wait
  ]
  const notifications = {
    ...listFilter(listKinds),
    resourceSubscriptions: survey.resources.slice(0, 2)
  }
  const listen = (params: object): Commands => [
    ...ask("subscriptions/listen", params),
    { _tag: "Cancel", which: "subscriptions" },
    wait
  ]
  return [
    ask("server/discover"),
    discover({ [Meta.protocolVersion]: "1999-01-01" }),
    discover({ [Meta.protocolVersion]: survey.revision }, true),
    listen({ notifications }),
    listen({ notifications: {} })
  ]
}

const lists = (survey: Survey): ReadonlyArray<Commands> =>
  paginated.flatMap(({ capability, method }): ReadonlyArray<Commands> => {
    const whole: Commands = [...ask(method), { _tag: "NextPage", method }, wait]
    return declared(survey, capability) ? [whole, ask(method, { cursor: "fuzz-invalid" })] : [whole]
  })

/** Tools to call, starting with the ones marked as read-only. */
const calledTools = (survey: Survey, options: Options): ReadonlyArray<SurveyedTool> => {
  const tools = declared(survey, "tools") ? callable(survey, options).map(({ tool }) => tool) : []
  const reads = ({ annotations }: SurveyedTool) => (annotations?.readOnlyHint === true ? 0 : 1)
  const structured = ({ outputSchema }: SurveyedTool) => (outputSchema === undefined ? 1 : 0)
  return tools.toSorted((one, two) => reads(one) - reads(two) || structured(one) - structured(two)).slice(0, most)
}

const call = ({ inputSchema, name }: SurveyedTool, more: object = {}): Command =>
  request("tools/call", { name, arguments: example(inputSchema), ...more })

/** Calls with arguments of the wrong type, and calls without a required argument. */
const wrongCalls = ({ inputSchema, name }: SurveyedTool): ReadonlyArray<Commands> => {
  const { properties, required } = inputSchema
  const [key] = isJsonObject(properties) ? Object.keys(properties) : []
  const wrong = key === undefined ? [] : [{ ...Object(example(inputSchema)), [key]: { wrong: true } }]
  const missing = Array.isArray(required) && required.length > 0 ? [{}] : []
  return [...missing, ...wrong].map((args) => ask("tools/call", { name, arguments: args }))
}

const tools = (survey: Survey, options: Options): ReadonlyArray<Commands> => {
  if (!declared(survey, "tools")) return []
  const called = calledTools(survey, options)
  const resume = (how: Extract<Command, { readonly _tag: "Resume" }>["how"]): Commands =>
    survey.revision < "2026" ? [] : [{ _tag: "Resume", how }, wait]
  return [
    ask("tools/call", { name: "fuzz-no-such-name", arguments: {} }),
    ask("tools/call", { name: "constructor", arguments: {} }),
    ask("tools/call", {}),
    ask("tools/call", { name: 7 }),
    ...called.map((tool): Commands => [
      call(tool, { _meta: { progressToken: "p" } }),
      wait,
      ...resume("answer"),
      ...resume("answer"),
      // A second call in the same session must not reuse ids and tokens of the first.
      call(tool, { _meta: { progressToken: 7 } }),
      wait
    ]),
    ...called
      .slice(0, mostWrong)
      .flatMap((tool): ReadonlyArray<Commands> => [
        ...(survey.revision < "2026"
          ? []
          : [[call(tool), wait, ...resume("tamper"), ...resume("wrong"), ...resume("omit")]]),
        ...wrongCalls(tool)
      ])
  ]
}

const resources = (survey: Survey): ReadonlyArray<Commands> => {
  if (!declared(survey, "resources")) return []
  const known = [...survey.resources.slice(0, most), ...survey.templates.slice(0, 1).map(expand)]
  const [uri] = known
  const { subscribe } = Object(survey.capabilities.resources)
  const subscribes = subscribe === true && survey.revision < "2026" && uri !== undefined
  return [
    ask("resources/read", { uri: "fuzz-none://nothing" }),
    ask("resources/read", {}),
    ...known.map((uri) => ask("resources/read", { uri })),
    ...(subscribes ? [[...ask("resources/subscribe", { uri }), ...ask("resources/unsubscribe", { uri })]] : [])
  ]
}

const prompts = (survey: Survey): ReadonlyArray<Commands> => {
  if (!declared(survey, "prompts")) return []
  const known = survey.prompts.slice(0, most).flatMap(({ arguments: args = [], name }): ReadonlyArray<Commands> => {
    const given = Object.fromEntries(args.map((each) => [each.name, "fuzz"]))
    const isDemanding = args.some(({ required }) => required === true)
    return [ask("prompts/get", { name, arguments: given }), ...(isDemanding ? [ask("prompts/get", { name })] : [])]
  })
  return [ask("prompts/get", { name: "fuzz-no-such-name" }), ask("prompts/get", {}), ...known]
}

const utilities = (survey: Survey, options: Options): ReadonlyArray<Commands> => {
  const calls = calledTools(survey, options).flatMap((tool): Commands => [call(tool), wait])
  const prompt = survey.prompts.find(({ arguments: args = [] }) => args.length > 0)
  const [argument] = prompt?.arguments ?? []
  const complete = (ref: object, name: string) => ask("completion/complete", { ref, argument: { name, value: "" } })
  const completions = [
    complete({ type: "ref/prompt", name: "fuzz-no-such-name" }, "fuzz"),
    ...(prompt === undefined ? [] : [complete({ type: "ref/prompt", name: prompt.name }, argument?.name ?? "a")]),
    ...survey.templates
      .slice(0, 1)
      .map((uri) => complete({ type: "ref/resource", uri }, /\{[^\w]*(\w+)/.exec(uri)?.[1] ?? "x"))
  ]
  const level = (level: unknown) => ask("logging/setLevel", { level })
  const logging = survey.revision < "2026" && declared(survey, "logging")
  return [
    ...(declared(survey, "completions") || survey.revision === "2024-11-05" ? completions : []),
    ...(logging ? [level("nonsense"), level(7), level(undefined), [...level("error"), ...calls]] : [])
  ]
}

const tasks = (survey: Survey, options: Options, overHttp: boolean): ReadonlyArray<Commands> => {
  const isCore = survey.revision === "2025-11-25" && survey.capabilities.tasks !== undefined
  const isExtended = survey.revision >= "2026" && at(survey.capabilities, "extensions", extension) !== undefined
  if (!isCore && !isExtended) return []
  const others = isCore ? { task: { ttl: 60_000 } } : { _meta: withTasks }
  const more = isCore ? {} : { _meta: withTasks, inputResponses: {} }
  const verbs = ["tasks/get", isCore ? "tasks/result" : "tasks/update", "tasks/cancel"] as const
  const tools = callable(survey, options).map(({ tool }) => tool)
  const supports = ({ execution }: SurveyedTool) => ["optional", "required"].includes(execution?.taskSupport ?? "")
  const called = (isCore ? tools.filter(supports) : tools).slice(0, most)
  const refusing = isCore ? tools.filter((tool) => !supports(tool)).slice(0, 1) : []
  const strangers = overHttp ? besideCommands(survey) : []
  return [
    ...called.map((tool): Commands => [
      call(tool, others),
      wait,
      ...verbs.flatMap((method): Commands => [{ _tag: "Task", method, which: "newest" }, wait]),
      ...(isCore ? ask("tasks/list") : []),
      { _tag: "Task", method: "tasks/cancel", which: "ended" },
      wait
    ]),
    ...refusing.map((tool): Commands => [call(tool, others), wait]),
    ...verbs.map((method) => ask(method, { taskId: "fuzz-no-such-task", ...more })),
    ...(isCore ? [ask("tasks/list", { cursor: "fuzz-invalid" })] : []),
    ...strangers.flatMap((beside) => called.slice(0, 1).map((tool): Commands => [call(tool, others), wait, beside]))
  ]
}

const http = (survey: Survey, options: Options): ReadonlyArray<Commands> => {
  const [tool] = calledTools(survey, options)
  const streamed = tool === undefined ? request("tools/list") : call(tool, { _meta: { progressToken: "p" } })
  const both: ReadonlyArray<Commands> = [
    ...deviationsOf(survey).map((http): Commands => [{ ...plain(survey), http }, wait]),
    [{ _tag: "Notify", method: "notifications/fuzz", http: { headers: { "mcp-method": null } } }],
    ...beside(survey)
      .slice(0, 2)
      .map((command): Commands => [command])
  ]
  if (survey.revision >= "2026")
    return [
      ...both,
      [streamed, { _tag: "Cut" }, wait],
      ...named(survey).map((command): Commands => [command, wait]),
      ...mirrors(survey)
        .slice(0, 6)
        .map((command): Commands => [command, wait])
    ]
  return [
    ...both,
    [{ _tag: "Listen" }, wait],
    [{ _tag: "Listen" }, { _tag: "Listen" }, wait],
    [{ _tag: "Listen" }, plain(survey), wait],
    [streamed, { _tag: "Cut" }, { _tag: "Reconnect" }, wait],
    [streamed, wait, { _tag: "Reconnect" }, wait],
    [{ _tag: "Delete" }, plain(survey), wait],
    [{ _tag: "Delete", http: { session: "unknown" } }, wait]
  ]
}

/** Handshakes with a version that doesn't exist. They are the same in every revision. */
const unknownVersions: ReadonlyArray<Commands> = ["1999-01-01", "9999-12-31"].map((offer) => [{ _tag: "Open", offer }])

/** Conversations that open a session in an unusual way. */
const openings = ({ revision }: Survey): ReadonlyArray<Commands> =>
  revision >= "2026"
    ? []
    : [
        [{ _tag: "Open", silent: true, declares: ["roots", "sampling", "elicitation"] }, wait],
        [{ _tag: "Open" }, ...ask("ping")]
      ]

/** Returns the conversations for checking the surveyed server. `isFirst` is true if no newer revision has a handshake. */
export const plan = (survey: Survey, options: Options, overHttp: boolean, isFirst: boolean): ReadonlyArray<Script> => {
  const opened = [
    messages(survey),
    stateful(survey),
    lists(survey),
    tools(survey, options),
    resources(survey),
    prompts(survey),
    utilities(survey, options),
    tasks(survey, options, overHttp),
    skillsPlan(survey),
    viewsPlan(survey, declared(survey, "tools") ? callable(survey, options) : []),
    // After a subscription, late notifications could hide notifications that nobody asked for.
    stateless(survey),
    overHttp ? http(survey, options) : []
  ].flat()
  // A server must not ask a client that declares nothing.
  const undeclared = calledTools(survey, options).map((tool): Commands => [{ _tag: "Open" }, call(tool), wait])
  const all = [
    ...opened.map((commands): Commands => [open, ...commands]),
    ...undeclared,
    ...openings(survey),
    ...(isFirst ? unknownVersions : []),
    unanswerable(survey),
    ...raw
  ]
  return all.map((commands) => ({ revision: survey.revision, commands }))
}
