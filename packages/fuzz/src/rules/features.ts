/** Rules about tools, prompts, resources and lists, in every revision. */
import * as JsonSchemaValidator from "@effect-mcp/protocol/JsonSchemaValidator"
import * as McpError from "@effect-mcp/protocol/McpError"
import { type ListKind, listKinds, serverNotifications } from "@effect-mcp/protocol/MethodInfo"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import { memoize } from "effect/Function"
import * as Result from "effect/Result"
import { type Model } from "../model/Model.ts"
import type { Answer, Exchange } from "../model/Observation.ts"
import type { Rule, Verdict } from "../model/Rule.ts"
import type { SurveyedTool } from "../model/Survey.ts"
import { answered, infoOf, mayExist, refused, result, show, showAnswer, violated, wrongResult } from "./judge.ts"
import { at } from "../model/json.ts"
import { taskOfCall } from "../model/TaskBook.ts"

const declared = (model: Model, capability: string): boolean => at(model.capabilities, capability) !== undefined

/** Returns the called tool, if the survey found it. */
export const toolOf = ({ params }: Exchange, { tools }: Model): SurveyedTool | undefined => {
  const name = at(params, "name")
  return typeof name === "string" ? tools.get(name) : undefined
}

const typeOf = (json: unknown): string => (Array.isArray(json) ? "array" : json === null ? "null" : typeof json)

/**
 * True if no server would accept the value for the schema. Some servers convert values on purpose, such as a list of one number to the
 * number, or any value to a boolean. Such values don't count as wrong.
 */
const wrongType = (schema: unknown, value: unknown): boolean => {
  const type = at(schema, "type")
  const given = typeOf(value)
  if (given === "null") return false
  if (type === "object" || type === "array") return given !== type
  return (type === "string" || type === "number" || type === "integer") && given === "object"
}

/** Describes how the arguments violate the tool's schema, or returns `undefined` if that is debatable. */
const wrongArguments = (tool: SurveyedTool, args: unknown): string | undefined => {
  if (args !== undefined && !isJsonObject(args)) return undefined
  const required = at(tool.inputSchema, "required")
  const missing = Array.isArray(required)
    ? required.find((key) => typeof key === "string" && at(args, key) === undefined)
    : undefined
  if (missing !== undefined) return `without the required ${show(missing)}`
  const wrong = Object.entries(args ?? {}).find(([key, value]) =>
    wrongType(at(tool.inputSchema, "properties", key), value)
  )
  return wrong === undefined ? undefined : `with the ${typeOf(wrong[1])} ${show(wrong[1])} for ${show(wrong[0])}`
}

/** Cached, because most conversations use the tools of the same survey. */
const compiled = memoize((schema: object) => JsonSchemaValidator.compile(schema))
const validatorOf = (schema: unknown) => (isJsonObject(schema) ? compiled(schema) : JsonSchemaValidator.compile(schema))

/** Judges whether the structured content of a tool's result matches its output schema. */
export const structured = (value: unknown, tool: SurveyedTool, model: Model): Verdict => {
  if (tool.outputSchema === undefined || !model.revision.rules.structuredOutput || at(value, "isError") === true)
    return undefined
  // The result carries questions instead (2026-07-28).
  if ((at(value, "resultType") ?? "complete") !== "complete") return undefined
  const content = at(value, "structuredContent")
  if (content === undefined)
    return violated(
      `${tool.name} has an output schema, but its result ${show(value)} has no structured content`,
      tool.name
    )
  const validator = validatorOf(tool.outputSchema)
  if (Result.isFailure(validator)) return undefined
  const [first] = validator.success(content)
  return first === undefined
    ? "pass"
    : violated(
        `The structured content ${show(content)} of ${tool.name} does not match its output schema: ${first.path} ${first.message}`,
        tool.name
      )
}

/** True if the server answers that the method does not exist. */
const isMissing = (answer: Answer): boolean => answer._tag === "Error" && answer.code === McpError.MethodNotFound

/** True if -32601 can only be about the method. The params of other methods may name something unknown. */
const isListed = (method: string): boolean => infoOf(method)?.list !== undefined

const invalidCursor = (exchange: Exchange, answer: Answer, model: Model): Verdict => {
  const cursor = at(exchange.params, "cursor")
  const info = infoOf(exchange.method)
  if (info?.list === undefined || typeof cursor !== "string" || cursor === "" || model.cursors.has(cursor))
    return undefined
  if (!model.knows("cursors")) return undefined
  if (!exchange.wellFormed || !exchange.open || !declared(model, info.capability ?? "")) return undefined
  // The rule `declared-there` covers a missing feature.
  if (isMissing(answer)) return undefined
  return refused(
    answer,
    McpError.InvalidParams,
    `${exchange.method} with the invalid cursor ${show(cursor)}`,
    exchange.method
  )
}

/** Judges lists whose capability is not declared: they must be empty. */
const undeclaredList = ({ method }: Exchange, answer: Answer, model: Model): Verdict => {
  const info = infoOf(method)
  const capability = info?.capability
  if (info?.list === undefined || capability === undefined || answer._tag === "Error") return undefined
  if (!model.knows("capabilities")) return undefined
  if (declared(model, capability)) return "pass"
  const lists = Object.values(Object(answer.result)).filter(Array.isArray)
  return lists.some(({ length }) => length > 0)
    ? violated(`${method} has members, but ${capability} is not declared`, capability)
    : undefined
}

const declaration = (capability: ListKind): Rule => ({
  name: `${capability}-declared`,
  level: "MUST",
  requirement: `${capability}.capability.declared`,
  section: `server/${capability}#capabilities`,
  text: `A server that has ${capability} declares the \`${capability}\` capability.`,
  since: serverNotifications[`notifications/${capability}/list_changed`].since,
  on: {
    Answered: ({ answer, exchange }, model) =>
      exchange.open && infoOf(exchange.method)?.capability === capability
        ? undeclaredList(exchange, answer, model)
        : undefined
  }
})

const toolNames = (check: (names: ReadonlyArray<string>) => string | undefined) =>
  result("tools/list", (value) => {
    const tools = at(value, "tools")
    if (!Array.isArray(tools)) return undefined
    const wrong = check(tools.map((tool: unknown) => String(at(tool, "name"))))
    return wrong === undefined ? "pass" : violated(`The name ${show(wrong)}`, wrong.slice(0, 40))
  })

/** Requires this error code for reading a resource that certainly does not exist. */
const unknownResource = (code: number) =>
  answered("resources/read", ({ params }, answer, model) => {
    const uri = at(params, "uri")
    if (typeof uri !== "string" || !URL.canParse(uri) || mayExist(uri, model) || !declared(model, "resources"))
      return undefined
    return refused(answer, code, `The unknown resource ${show(uri)}`)
  })

export const features: ReadonlyArray<Rule> = [
  ...listKinds.map(declaration),
  {
    name: "result-fits-method",
    level: "MUST",
    requirement: "lifecycle.operation.version-respected",
    section: "basic/lifecycle#operation",
    text: "A result has the shape that the negotiated revision defines.",
    until: "2025-11-25",
    softerUntil: "2025-03-26",
    on: {
      Answered: ({ answer, exchange }, model) => {
        if (!exchange.open || answer._tag === "Error" || infoOf(exchange.method) === undefined) return undefined
        if (taskOfCall(exchange, answer.result) !== undefined) return undefined
        // In every revision, a result must be an object: see `result-object`.
        if (!isJsonObject(answer.result)) return undefined
        const wrong = wrongResult(exchange.method, answer.result, model)
        return wrong === undefined
          ? "pass"
          : violated(`${exchange.method} is answered with ${show(answer.result)}: ${wrong}`, exchange.method)
      }
    }
  },
  {
    name: "result-object",
    level: "robustness",
    text: "A result is an object, as the schema of each revision requires.",
    on: {
      Answered: ({ answer, exchange }) => {
        if (answer._tag === "Error" || !exchange.wellFormed) return undefined
        return isJsonObject(answer.result)
          ? "pass"
          : violated(`${exchange.method} is answered with ${showAnswer(answer)}`, exchange.method)
      }
    }
  },
  {
    name: "declared-there",
    level: "robustness",
    text: "A server has the methods of each feature that it declares.",
    on: {
      Answered: ({ answer, exchange }, model) => {
        const capability = infoOf(exchange.method)?.capability
        if (capability === undefined || !exchange.wellFormed || !exchange.open) return undefined
        if (!isListed(exchange.method) || !declared(model, capability)) return undefined
        return isMissing(answer)
          ? violated(
              `${capability} is declared, but ${exchange.method} is answered with ${showAnswer(answer)}`,
              capability
            )
          : "pass"
      }
    }
  },
  {
    name: "tool-input-validated",
    level: "MUST",
    requirement: "tools.security.input-validated",
    section: "server/tools#security-considerations",
    text: "A server validates the input of every tool call.",
    on: answered("tools/call", (exchange, answer, model) => {
      const tool = toolOf(exchange, model)
      const wrong = tool && wrongArguments(tool, at(exchange.params, "arguments"))
      if (tool === undefined || wrong === undefined) return undefined
      // The call became a task, and the task may fail instead.
      if (answer._tag === "Result" && taskOfCall(exchange, answer.result) !== undefined) return undefined
      return answer._tag === "Error" || at(answer.result, "isError") === true
        ? "pass"
        : violated(`${tool.name} ${wrong} is accepted: ${showAnswer(answer)}`, tool.name)
    })
  },
  {
    name: "tool-structured-conforms",
    level: "MUST",
    requirement: "tools.result.structured-conforms",
    section: "server/tools#output-schema",
    text: "A tool with an output schema returns structured content that conforms to the schema.",
    since: "2025-06-18",
    on: result("tools/call", (value, exchange, model) => {
      const tool = toolOf(exchange, model)
      return taskOfCall(exchange, value) === undefined ? tool && structured(value, tool, model) : undefined
    })
  },
  {
    name: "tool-unknown",
    level: "SHOULD",
    requirement: "tools.call.unknown-tool",
    section: "server/tools#error-handling",
    text: "A call to an unknown tool is answered with a JSON-RPC error.",
    on: answered("tools/call", (exchange, answer, model) => {
      const name = at(exchange.params, "name")
      if (typeof name !== "string" || model.tools.has(name) || !declared(model, "tools")) return undefined
      if (!model.knows("tools")) return undefined
      // In observed traffic, a tool may exist without being listed.
      if (model.observed && answer._tag === "Result" && at(answer.result, "isError") !== true) return undefined
      return answer._tag === "Error"
        ? "pass"
        : violated(`A call to ${show(name)} is answered with ${showAnswer(answer)}`)
    })
  },
  {
    name: "tool-name-length",
    level: "SHOULD",
    requirement: "tools.name.length",
    section: "server/tools#tool-names",
    text: "A tool name has 1 to 128 characters.",
    since: "2025-11-25",
    on: toolNames((names) => names.find(({ length }) => length < 1 || length > 128))
  },
  {
    name: "tool-name-characters",
    level: "SHOULD",
    requirement: "tools.name.characters",
    section: "server/tools#tool-names",
    text: "A tool name only contains ASCII letters, digits, underscores, hyphens and dots.",
    since: "2025-11-25",
    on: toolNames((names) => names.find((name) => !/^[A-Za-z0-9_.-]*$/.test(name)))
  },
  {
    name: "tool-name-unique",
    level: "SHOULD",
    requirement: "tools.name.unique",
    section: "server/tools#tool-names",
    text: "A tool name is unique within its server.",
    since: "2025-11-25",
    on: toolNames((names) => names.find((name, index) => names.indexOf(name) !== index))
  },
  {
    name: "prompt-unknown",
    level: "SHOULD",
    requirement: "prompts.get.unknown",
    section: "server/prompts#error-handling",
    text: "Getting an unknown prompt is answered with error -32602.",
    on: answered("prompts/get", (exchange, answer, model) => {
      const name = at(exchange.params, "name")
      if (typeof name !== "string" || model.prompts.has(name) || !declared(model, "prompts")) return undefined
      if (!model.knows("prompts") || (model.observed && answer._tag === "Result")) return undefined
      return refused(answer, McpError.InvalidParams, `The unknown prompt ${show(name)}`)
    })
  },
  {
    name: "prompt-missing-argument",
    level: "SHOULD",
    requirement: "prompts.get.missing-argument",
    section: "server/prompts#error-handling",
    text: "A missing required prompt argument is answered with error -32602.",
    on: answered("prompts/get", (exchange, answer, model) => {
      const name = at(exchange.params, "name")
      const prompt = typeof name === "string" ? model.prompts.get(name) : undefined
      const missing = prompt?.arguments?.find(
        (arg) => arg.required === true && at(exchange.params, "arguments", arg.name) === undefined
      )
      if (prompt === undefined || missing === undefined) return undefined
      return refused(answer, McpError.InvalidParams, `${prompt.name} without its argument ${missing.name}`)
    })
  },
  {
    name: "resource-unknown",
    level: "SHOULD",
    requirement: "resources.read.not-found",
    section: "server/resources#error-handling",
    text: "Reading an unknown resource is answered with error -32002.",
    until: "2025-11-25",
    on: unknownResource(McpError.ResourceNotFound)
  },
  {
    name: "resource-unknown-stateless",
    level: "MUST",
    requirement: "resources.read.unknown",
    section: "server/resources#error-handling",
    text: "Reading a resource that does not exist is answered with error -32602.",
    since: "2026-07-28",
    on: unknownResource(McpError.InvalidParams)
  },
  {
    name: "completion-unknown-prompt",
    level: "SHOULD",
    requirement: "completion.error.unknown-prompt",
    section: "server/utilities/completion#error-handling",
    text: "A reference to an unknown prompt is answered with error -32602.",
    since: "2025-03-26",
    on: answered("completion/complete", ({ params }, answer, model) => {
      const name = at(params, "ref", "name")
      if (at(params, "ref", "type") !== "ref/prompt" || typeof name !== "string" || model.prompts.has(name))
        return undefined
      if (!model.knows("prompts") || (model.observed && answer._tag === "Result")) return undefined
      if (!declared(model, "completions") || typeof at(params, "argument", "value") !== "string") return undefined
      return refused(answer, McpError.InvalidParams, `A completion for the unknown prompt ${show(name)}`)
    })
  },
  {
    name: "cursor-invalid",
    level: "SHOULD",
    requirement: "pagination.cursor.invalid",
    section: "server/utilities/pagination#error-handling",
    text: "An invalid cursor is answered with error -32602.",
    on: { Answered: ({ answer, exchange }, model) => invalidCursor(exchange, answer, model) }
  }
]
