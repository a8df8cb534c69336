/** The capabilities that a conversation's client declares, and its answers to questions. */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { example } from "../generator/example.ts"
import { type Model } from "../model/Model.ts"
import type { Question } from "../model/Observation.ts"
import type { Answering, Command, RequestCommand } from "../model/Script.ts"
import { withTasks } from "../model/TaskBook.ts"
import { at } from "../model/json.ts"

/** The client's declaration of each capability. */
const capabilities: { readonly [name: string]: JsonObject } = {
  roots: { listChanged: true },
  sampling: {},
  elicitation: {}
}

const answers: { readonly [method: string]: (params: JsonObject) => JsonObject } = {
  "roots/list": () => ({ roots: [{ uri: "file:///fuzz", name: "fuzz" }] }),
  "sampling/createMessage": () => ({ role: "assistant", content: { type: "text", text: "fuzz" }, model: "fuzz" }),
  "elicitation/create": ({ requestedSchema }) => ({ action: "accept", content: example(requestedSchema) })
}

/** Returns the client's answer to a question, or `undefined` if the client responds with an error. */
const answerTo = (method: string, params: JsonObject, how: Answering): JsonObject | undefined => {
  if (how === "malformed") return { nonsense: true }
  if (how === "decline" && method === "elicitation/create") return { action: "decline" }
  return how === "accept" ? answers[method]?.(params) : undefined
}

/** Returns the client's answers by the keys of their questions. */
const answersTo = (questions: ReadonlyArray<readonly [string, unknown]>, how: Answering): JsonObject =>
  Object.fromEntries(
    questions.flatMap(([key, question]) => {
      const params = at(question, "params")
      const answer = answerTo(String(at(question, "method")), isJsonObject(params) ? params : {}, how)
      return answer === undefined ? [] : [[key, answer]]
    })
  )

/** Returns the declaration of these capabilities. */
export const declared = (names: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(names.map((name) => [name, capabilities[name] ?? {}]))

/** Returns the client's answer to a question as a message, or `undefined` if it never answers. */
export const replyTo = ({ id, method, params }: Question, how: Answering): JsonObject | undefined => {
  if (method === "ping") return { jsonrpc: "2.0", id, result: {} }
  if (how === "never") return undefined
  const result = answerTo(method, params, how)
  if (result !== undefined) return { jsonrpc: "2.0", id, result }
  return { jsonrpc: "2.0", id, error: { code: -1, message: "The client does not answer this" } }
}

const clientInfo = { name: "effect-mcp fuzz", version: "0.1.0" }

/** The params of `initialize`. */
export const opening = (version: string, declares: JsonObject): JsonObject => ({
  protocolVersion: version,
  capabilities: declares,
  clientInfo
})

/** The `_meta` of each request in 2026-07-28. */
const metaOf = (version: string, declares: JsonObject): JsonObject => ({
  [Meta.protocolVersion]: version,
  [Meta.clientInfo]: clientInfo,
  [Meta.clientCapabilities]: declares
})

/** Returns the message of a request from a client with these capabilities. */
export const requestOf = (
  { bare, method, params }: RequestCommand,
  id: unknown,
  { revision }: Model,
  declares: JsonObject
): JsonObject => {
  if (revision.era === "stateless" && bare !== true && (params === undefined || isJsonObject(params))) {
    const meta: JsonObject = Object.assign(metaOf(revision.version, declares), at(params, "_meta"))
    return { jsonrpc: "2.0", id, method, params: Object.assign({}, params, { _meta: meta }) }
  }
  return params === undefined ? { jsonrpc: "2.0", id, method } : { jsonrpc: "2.0", id, method, params }
}

export const notificationOf = (method: string, params: unknown): JsonObject =>
  params === undefined ? { jsonrpc: "2.0", method } : { jsonrpc: "2.0", method, params }

/** Returns the request for the next page, or `undefined` if there is none. */
export const nextPage = (
  { next }: Model,
  { method }: Extract<Command, { readonly _tag: "NextPage" }>
): RequestCommand | undefined => {
  const cursor = next.get(method)
  return cursor === undefined ? undefined : { _tag: "Request", method, params: { cursor } }
}

/** Returns a request about one of the server's tasks, or `undefined` if there is none. */
export const taskRequest = (
  { foreign, revision, tasks }: Model,
  { method, which }: Extract<Command, { readonly _tag: "Task" }>,
  client: Answering
): RequestCommand | undefined => {
  const task = tasks.find(which) ?? foreign?.tasks.find(which)
  if (task === undefined) return undefined
  const responses =
    method === "tasks/update" ? { inputResponses: answersTo(Object.entries(task.questions), client) } : {}
  const meta = revision.era === "stateless" ? { _meta: withTasks } : {}
  const params = { taskId: task.id, ...responses, ...meta }
  // The round trip narrows the type to JSON values.
  return { _tag: "Request", method, params: JSON.parse(JSON.stringify(params)) }
}

/** Returns the next round of the newest request with open questions (2026-07-28), or `undefined` if there is none. */
export const nextRound = (
  model: Model,
  how: Extract<Command, { readonly _tag: "Resume" }>["how"],
  client: Answering
): { readonly method: string; readonly params: JsonObject } | undefined => {
  const asking = model.newest(
    ({ answer }) => answer?._tag === "Result" && at(answer.result, "resultType") === "input_required"
  )
  if (asking?.answer?._tag !== "Result" || !isJsonObject(asking.params)) return undefined
  const { inputRequests, requestState } = Object(asking.answer.result)
  const questions = isJsonObject(inputRequests) ? Object.entries(inputRequests) : []
  const answering = how === "wrong" ? "malformed" : client
  const responses = answersTo(questions, answering)
  const state: unknown = how === "tamper" && typeof requestState === "string" ? `${requestState}x` : requestState
  const params = Object.assign(
    {},
    asking.params,
    how === "omit" ? {} : { inputResponses: responses },
    state === undefined ? {} : { requestState: state }
  )
  return { method: asking.method, params }
}
