/** Rules about what one client can find out about another client's tasks. They need two clients at once. */
import { at } from "../model/json.ts"
import type { Model } from "../model/Model.ts"
import type { Answer, Exchange } from "../model/Observation.ts"
import type { Rule, RuleHandlers, Verdict } from "../model/Rule.ts"
import { result, show, showAnswer, violated } from "./judge.ts"
import { taskOfCall } from "../model/TaskBook.ts"

const transport = "http"
const core = { since: "2025-11-25", until: "2025-11-25", transport } as const
const section = "basic/utilities/tasks#task-isolation-and-access-control"
const extension = { since: "2026-07-28", section: "extensions/tasks#security-considerations" } as const

/** Judges requests about another client's task. */
const foreign = (
  methods: RegExp,
  check: (exchange: Exchange, answer: Answer, model: Model, id: string) => Verdict
): RuleHandlers => ({
  Answered: ({ answer, exchange }, model) => {
    const id = at(exchange.params, "taskId")
    if (!methods.test(exchange.method) || !exchange.wellFormed || !exchange.open || typeof id !== "string")
      return undefined
    return model.foreign?.tasks.made.includes(id) === true ? check(exchange, answer, model, id) : undefined
  }
})

/** Requires an error if the caller's principal does not own the task. */
const unreachable = (methods: RegExp): RuleHandlers =>
  foreign(methods, ({ method }, answer, { foreign }, id) =>
    foreign?.callers !== "different"
      ? undefined
      : answer._tag === "Error"
        ? "pass"
        : violated(
            `${method} of the task ${show(id)} of another principal is answered with ${showAnswer(answer)}`,
            method
          )
  )

/** Requires that no list contains another client's tasks. */
const unlisted = (callers: "different" | "anonymous", whose: string): RuleHandlers =>
  result("tasks/list", (value, _, { foreign }) => {
    if (foreign?.callers !== callers || foreign.tasks.made.length === 0) return undefined
    const listed: unknown = at(value, "tasks")
    const ids = Array.isArray(listed) ? listed.map((task: unknown) => at(task, "taskId")) : []
    const theirs = foreign.tasks.made.find((id) => ids.includes(id))
    return theirs === undefined ? "pass" : violated(`tasks/list has the task ${show(theirs)} of ${whose}`)
  })

/** Minimum length of an id. A shorter one is soon found by trial and error. */
const shortest = 8

const numbered = (id: string): readonly [prefix: string, number: number] | undefined => {
  const [, prefix, digits] = /^(.*?)(\d{1,15})$/s.exec(id) ?? []
  return prefix === undefined ? undefined : [prefix, Number(digits)]
}

/** True if two ids look like consecutive numbers. */
const follows = (one: string, other: string): boolean => {
  const [a, b] = [numbered(one), numbered(other)]
  return a !== undefined && b !== undefined && a[0] === b[0] && Math.abs(a[1] - b[1]) === 1
}

/** Judges whether an id is guessable, given the known ids. */
const guessed = (id: string, known: ReadonlyArray<string>): Verdict => {
  if (id.length < shortest) return violated(`The id ${show(id)} of a task can be guessed`, "short")
  const neighbour = known.find((other) => follows(id, other))
  return neighbour === undefined
    ? "pass"
    : violated(`The ids of two tasks are ${show(neighbour)} and ${show(id)}`, "counted")
}

export const taskAccess: ReadonlyArray<Rule> = [
  {
    ...core,
    name: "task-foreign-rejected",
    level: "MUST",
    requirement: "tasks.security.foreign-rejected",
    section,
    text: "A task of another principal can be neither read nor cancelled.",
    on: unreachable(/^tasks\/(get|result|cancel)$/)
  },
  {
    ...core,
    name: "task-list-own",
    level: "MUST",
    requirement: "tasks.security.list-own-only",
    section,
    text: "tasks/list contains no task of another principal.",
    on: unlisted("different", "another principal")
  },
  {
    ...core,
    name: "task-list-undeclared",
    level: "SHOULD",
    requirement: "tasks.security.list-undeclared",
    section,
    text: "A server that cannot tell its clients apart does not list their tasks.",
    on: unlisted("anonymous", "another client without credentials")
  },
  {
    ...core,
    name: "task-id-entropy",
    level: "MUST",
    requirement: "tasks.security.id-entropy",
    section,
    text: "The id of a task that any client can use cannot be guessed.",
    on: foreign(/^tasks\/(get|result|cancel)$/, (_, answer, { foreign }, id) =>
      foreign?.callers === "anonymous" && answer._tag === "Result" ? guessed(id, foreign.tasks.made) : undefined
    )
  },
  {
    ...extension,
    name: "task-caller-checked",
    level: "MUST",
    requirement: "tasks-extension.security.authorized",
    text: "A request about a task of another principal is rejected.",
    transport,
    on: unreachable(/^tasks\/(get|update|cancel)$/)
  },
  {
    ...extension,
    name: "task-id-unguessable",
    level: "MUST",
    requirement: "tasks-extension.security.unguessable",
    text: "The id of a task can be neither guessed nor enumerated.",
    on: result("tools/call", (value, exchange, { tasks }) => {
      const id = at(taskOfCall(exchange, value), "taskId")
      return typeof id === "string" ? guessed(id, tasks.made) : undefined
    })
  }
]
