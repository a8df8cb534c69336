/**
 * What the server last said of its tools, as far as a call needs it: whether it must run as a task, what its result looks like.
 *
 * Filled by listing, emptied when the server says that the list changed. A tool that was never listed is called unchecked.
 */
import * as JsonSchemaValidator from "@effect-mcp/protocol/JsonSchemaValidator"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { CallToolResult, Tool, ToolAnnotations } from "@effect-mcp/protocol/model/Tool"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { InvalidResult, TaskRequired } from "./ClientError.ts"

type Compiled = Result.Result<JsonSchemaValidator.Validator, JsonSchemaValidator.UnsupportedSchema>

interface Entry {
  readonly tool: Tool
  validator: Compiled | undefined
}

const invalid = (message: string, result?: CallToolResult): InvalidResult =>
  new InvalidResult({ method: "tools/call", message, ...(result === undefined ? undefined : { result }) })

export class ToolCatalog {
  private readonly entries = new Map<string, Entry>()
  private readonly conversation: { readonly revision: Revision }

  constructor(conversation: { readonly revision: Revision }) {
    this.conversation = conversation
  }

  learn(tools: ReadonlyArray<Tool>): void {
    for (const tool of tools) this.entries.set(tool.name, { tool, validator: undefined })
  }

  forget(): void {
    this.entries.clear()
  }

  /** Untrusted, as everything a server says of itself. */
  annotations(name: string): ToolAnnotations | undefined {
    return this.entries.get(name)?.tool.annotations
  }

  /** Whether the server says that this is a call which may run twice. */
  mayRepeat(method: string, params: unknown): boolean {
    const name = method === "tools/call" && isJsonObject(params) ? params["name"] : undefined
    const hints = typeof name === "string" ? this.annotations(name) : undefined
    return hints?.readOnlyHint === true || hints?.idempotentHint === true
  }

  /** Refuses to call what could not be answered: a tool that runs only as a task. */
  checkCallable(name: string): Effect.Effect<void, TaskRequired> {
    return this.entries.get(name)?.tool.execution?.taskSupport === "required"
      ? Effect.fail(new TaskRequired({ tool: name, message: `The tool ${name} runs only as a task` }))
      : Effect.void
  }

  /** Compiled when first needed. Fails for a schema that cannot be checked, which is known before the tool is called. */
  validator(name: string): Effect.Effect<JsonSchemaValidator.Validator | undefined, InvalidResult> {
    return Effect.suspend(() => {
      const entry = this.entries.get(name)
      const schema = this.conversation.revision.rules.structuredOutput ? entry?.tool.outputSchema : undefined
      if (entry === undefined || schema === undefined) return Effect.succeed(undefined)
      entry.validator ??= JsonSchemaValidator.compile(schema)
      return Result.isSuccess(entry.validator)
        ? Effect.succeed(entry.validator.success)
        : Effect.fail(invalid(`The output schema of ${name} cannot be checked: ${entry.validator.failure.reason}`))
    })
  }
}

/** A failed call needs no structured content; any other must have it where there is a schema, and it must fit. */
export const checkResult = (
  name: string,
  validate: JsonSchemaValidator.Validator | undefined,
  result: CallToolResult
): Effect.Effect<CallToolResult, InvalidResult> => {
  if (validate === undefined || result.isError === true) return Effect.succeed(result)
  if (result.structuredContent === undefined) {
    return Effect.fail(invalid(`The tool ${name} has an output schema but gave no structured content`, result))
  }
  const [violation] = validate(result.structuredContent)
  return violation === undefined
    ? Effect.succeed(result)
    : Effect.fail(
        invalid(`The result of ${name} does not fit its output schema: ${violation.path} ${violation.message}`, result)
      )
}
