/** Calls as tasks, and requests about tasks, with ids from the server and with unknown ids. */
import * as Arbitrary from "effect/Arbitrary"
import { at } from "../model/json.ts"
import type { Command } from "../model/Script.ts"
import type { Survey, SurveyedTool } from "../model/Survey.ts"
import { extension, withTasks } from "../model/TaskBook.ts"
import type { Move } from "./Move.ts"
import { oneOf, type Values } from "./Values.ts"

/** A tool that may be called, with valid arguments. */
export interface Callable {
  readonly tool: SurveyedTool
  readonly values: Values
}

type Verb = Extract<Command, { readonly _tag: "Task" }>["method"]
type Json = Extract<Command, { readonly _tag: "Request" }>["params"]

// Values are made of JSON only.
const request = (method: string, params: unknown): Command => ({
  _tag: "Request",
  method,
  params: JSON.parse(JSON.stringify(params)) satisfies Json
})

const call = ({ tool, values }: Callable, others: Arbitrary.Arbitrary<object>): Arbitrary.Arbitrary<Command> =>
  Arbitrary.map(Arbitrary.all([values, others]), ([args, other]) =>
    request("tools/call", { name: tool.name, arguments: args, ...other })
  )

const ofKnown = (...verbs: ReadonlyArray<Verb>): Move => [
  4,
  oneOf(
    ...verbs.flatMap((method) =>
      (["newest", "oldest", "ended"] as const).map((which): Command => ({ _tag: "Task", method, which }))
    )
  )
]

const ids: ReadonlyArray<unknown> = ["fuzz-no-such-task", "", "__proto__", 7, null, undefined]

const ofUnknown = (verbs: ReadonlyArray<Verb>, others: object): Move => [
  2,
  oneOf(...verbs.flatMap((method) => ids.map((taskId) => request(method, { taskId, ...others }))))
]

const wait: Move = [2, oneOf<Command>({ _tag: "Wait" })]

/** 2025-11-25. */
const core = (survey: Survey, tools: ReadonlyArray<Callable>): ReadonlyArray<Move> => {
  const { tasks } = survey.capabilities
  if (tasks === undefined) return []
  const verbs: ReadonlyArray<Verb> = ["tasks/get", "tasks/result", "tasks/cancel"]
  const params = oneOf<object>({ task: {} }, { task: { ttl: 60_000 } }, { task: {}, _meta: { progressToken: "task" } })
  const accepts = at(tasks, "requests", "tools", "call") !== undefined
  const supports = ({ tool }: Callable) => ["optional", "required"].includes(tool.execution?.taskSupport ?? "")
  const refuses = tools.filter((each) => !supports(each)).slice(0, 1)
  const called = accepts ? [...tools.filter(supports), ...refuses] : []
  const lists: ReadonlyArray<Command> = [
    { _tag: "Request", method: "tasks/list" },
    { _tag: "NextPage", method: "tasks/list" },
    { _tag: "Request", method: "tasks/list", params: { cursor: "%%%" } }
  ]
  return [
    ...called.map((each): Move => [2, call(each, params)]),
    ofKnown(...verbs),
    ofUnknown(verbs, {}),
    [1, oneOf(...lists)],
    wait
  ]
}

/** 2026-07-28: any call of a client that declares the extension may become a task. */
const extended = (survey: Survey, tools: ReadonlyArray<Callable>): ReadonlyArray<Move> => {
  if (at(survey.capabilities, "extensions", extension) === undefined) return []
  const verbs: ReadonlyArray<Verb> = ["tasks/get", "tasks/update", "tasks/cancel"]
  const declared = { _meta: withTasks, inputResponses: {} }
  return [
    ...tools.map((each): Move => [1, call(each, oneOf<object>({ _meta: withTasks }))]),
    ofKnown(...verbs),
    ofUnknown(verbs, declared),
    [1, oneOf(...verbs.map((method) => request(method, { taskId: "fuzz-no-such-task", inputResponses: {} })))],
    wait
  ]
}

type Step = Extract<Command, { readonly _tag: "Beside" }>["commands"][number]

/** Lets a second client, with another principal or the same one, ask about the tasks of the first (HTTP). */
export const besideCommands = (survey: Survey): ReadonlyArray<Command> => {
  const isCore = survey.revision < "2026"
  const verbs: ReadonlyArray<Verb> = ["tasks/get", isCore ? "tasks/result" : "tasks/update", "tasks/cancel"]
  const steps: ReadonlyArray<Step> = [
    ...(isCore ? [{ _tag: "Request", method: "tasks/list" } as const] : []),
    ...verbs.map((method): Step => ({ _tag: "Task", method, which: "newest" }))
  ]
  const commands: ReadonlyArray<Step> = [{ _tag: "Open" }, ...steps, { _tag: "Wait" }]
  return [
    { _tag: "Beside", stranger: true, commands },
    { _tag: "Beside", stranger: false, commands }
  ]
}

/** Returns moves with tasks, or none if the server declares no tasks. */
export const tasks = (
  survey: Survey,
  tools: ReadonlyArray<Callable>,
  overHttp: boolean | undefined
): ReadonlyArray<Move> => {
  const { revision } = survey
  const moves = revision >= "2026" ? extended(survey, tools) : revision === "2025-11-25" ? core(survey, tools) : []
  return overHttp === true && moves.length > 0 ? [...moves, [3, oneOf(...besideCommands(survey))]] : moves
}
