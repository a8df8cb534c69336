/**
 * The parts of listed tools that calls need: schemas, annotations and task support.
 *
 * Listing fills the catalog, and a change to the list empties it. A tool that was never listed is called without checks. The size in bytes
 * is bounded, and the tools that were listed first are dropped first.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as HeaderParams from "@effect-mcp/protocol/HeaderParams"
import * as JsonSchemaValidator from "@effect-mcp/protocol/JsonSchemaValidator"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { CallToolResult, Tool, ToolAnnotations, ToolExecution } from "@effect-mcp/protocol/model/Tool"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { InvalidResult } from "../ClientError.ts"
import { sizeOf } from "../internal/sizeOf.ts"

type Compiled = Result.Result<JsonSchemaValidator.Validator, JsonSchemaValidator.UnsupportedSchema>

type TaskSupport = NonNullable<ToolExecution["taskSupport"]>

interface Entry {
  readonly tool: Tool
  validator: Compiled | undefined
  /** The reason why this transport cannot call the tool, or `undefined` if it can. */
  readonly problem: HeaderParams.Problem | undefined
  readonly size: number
}

interface Conversation {
  readonly revision: Revision
  /** True if some arguments must also be sent as headers. */
  readonly headers: boolean
}

const invalid = (message: string, result?: CallToolResult): InvalidResult =>
  new InvalidResult({ method: "tools/call", message, ...(result === undefined ? undefined : { result }) })

export class ToolCatalog {
  private readonly entries = new Map<string, Entry>()
  private readonly absent = new Set<string>()
  private readonly conversation: Conversation
  private readonly rejected: (reason: string) => void
  private readonly maxBytes: number
  private bytes = 0

  /** `rejected` is called with the reason for each tool that is left out. */
  constructor(conversation: Conversation, rejected: (reason: string) => void, maxBytes: number) {
    this.conversation = conversation
    this.rejected = rejected
    this.maxBytes = maxBytes
  }

  private delete(name: string): void {
    this.bytes -= this.entries.get(name)?.size ?? 0
    this.entries.delete(name)
  }

  private set(tool: Tool, problem: HeaderParams.Problem | undefined): void {
    this.delete(tool.name)
    const size = sizeOf(tool)
    this.bytes += size
    this.entries.set(tool.name, { tool, validator: undefined, problem, size })
    for (const name of this.entries.keys()) {
      if (this.bytes <= this.maxBytes) return
      this.delete(name)
    }
  }

  /** Stores tools and returns the callable ones. Over HTTP, a tool is left out if its arguments cannot be sent as headers. */
  learn(tools: ReadonlyArray<Tool>): ReadonlyArray<Tool> {
    return tools.filter((tool) => {
      const [problem] = this.conversation.headers ? HeaderParams.parse(tool.inputSchema).problems : []
      this.set(tool, problem)
      if (problem !== undefined) this.rejected(`Skipped the tool ${excerpt(tool.name)}: ${problem.message}`)
      return problem === undefined
    })
  }

  /** True if the tool was listed or is known to be absent. */
  knows(name: string): boolean {
    return this.entries.has(name) || this.absent.has(name)
  }

  /** Called after a listing: records that the tool is absent unless it was listed. */
  markAbsent(name: string): void {
    if (!this.entries.has(name)) this.absent.add(name)
  }

  inputSchema(name: string): JsonObject | undefined {
    return this.entries.get(name)?.tool.inputSchema
  }

  forget(): void {
    this.entries.clear()
    this.bytes = 0
    this.absent.clear()
  }

  /** Returns the tool's annotations. Untrusted. */
  annotations(name: string): ToolAnnotations | undefined {
    return this.entries.get(name)?.tool.annotations
  }

  /** True if the tool's annotations allow a call to run twice. */
  mayRepeat(method: string, params: unknown): boolean {
    const name = method === "tools/call" && isJsonObject(params) ? params["name"] : undefined
    const hints = typeof name === "string" ? this.annotations(name) : undefined
    return hints?.readOnlyHint === true || hints?.idempotentHint === true
  }

  /** Returns whether a call may or must be a task (2025-11-25), or `undefined` if the tool was not listed. */
  taskSupport(name: string): TaskSupport | undefined {
    const entry = this.entries.get(name)
    return entry && (entry.tool.execution?.taskSupport ?? "forbidden")
  }

  /** Fails if the tool was left out of the list. */
  checkCallable(name: string): Effect.Effect<void, InvalidResult> {
    const problem = this.entries.get(name)?.problem
    return problem === undefined
      ? Effect.void
      : Effect.fail(invalid(`The tool ${name} cannot be called: ${problem.message}`))
  }

  /** Returns the validator of the tool's output schema, compiled on first use. Fails before the call if the schema cannot be used. */
  validator(name: string): Effect.Effect<JsonSchemaValidator.Validator | undefined, InvalidResult> {
    const entry = this.entries.get(name)
    const schema = this.conversation.revision.rules.structuredOutput ? entry?.tool.outputSchema : undefined
    if (entry === undefined || schema === undefined) return Effect.succeed(undefined)
    const compiled = (entry.validator ??= JsonSchemaValidator.compile(schema))
    return Result.isSuccess(compiled)
      ? Effect.succeed(compiled.success)
      : Effect.fail(invalid(`The output schema of ${name} is not supported: ${compiled.failure.reason}`))
  }
}

/** Fails if the structured content is missing or does not match the output schema. Results with `isError` always pass. */
export const checkResult = (
  name: string,
  validate: JsonSchemaValidator.Validator | undefined,
  result: CallToolResult
): Effect.Effect<CallToolResult, InvalidResult> => {
  if (validate === undefined || result.isError === true) return Effect.succeed(result)
  if (result.structuredContent === undefined) {
    return Effect.fail(invalid(`The tool ${name} has an output schema but returned no structured content`, result))
  }
  const [violation] = validate(result.structuredContent)
  return violation === undefined
    ? Effect.succeed(result)
    : Effect.fail(
        invalid(
          `The result of ${name} does not match its output schema: ${excerpt(violation.path)} ${violation.message}`,
          result
        )
      )
}
