/** The output schemas of the tools that a client has listed (spec: server/tools): results of their calls must fit. */
import * as JsonSchemaValidator from "@effect-mcp/protocol/JsonSchemaValidator"
import * as Result from "effect/Result"
import { ProtocolError, ProtocolErrorCode } from "../model/errors.ts"
import type { CallToolResult, Tool } from "../model/types.ts"

type Validator = ReturnType<typeof JsonSchemaValidator.compile>

/** Tools whose schemas are kept; the oldest are dropped first. */
const maxTools = 10_000

export class Outputs {
  readonly #schemas = new Map<string, object>()
  readonly #validators = new Map<string, Validator>()

  /** Keeps the schemas of a page of tools. */
  learn(tools: ReadonlyArray<Pick<Tool, "name" | "outputSchema">>): void {
    for (const { name, outputSchema } of tools) {
      this.#schemas.delete(name)
      this.#validators.delete(name)
      if (outputSchema === undefined) continue
      this.#schemas.set(name, outputSchema)
      if (this.#schemas.size > maxTools) this.#forget(this.#schemas.keys().next().value)
    }
  }

  #forget(name: string | undefined): void {
    if (name === undefined) return
    this.#schemas.delete(name)
    this.#validators.delete(name)
  }

  /** Returns the result, or throws if it does not fit the schema of its tool. Results of tools that were not listed are not checked. */
  checked(name: string, result: CallToolResult): CallToolResult {
    const schema = this.#schemas.get(name)
    if (schema === undefined || result.isError === true) return result
    if (result.structuredContent === undefined) {
      const message = `The tool ${name} has an output schema but returned no structured content`
      throw new ProtocolError(ProtocolErrorCode.InvalidRequest, message)
    }
    const compiled = this.#validators.get(name) ?? JsonSchemaValidator.compile(schema)
    this.#validators.set(name, compiled)
    const wrong = Result.isFailure(compiled)
      ? `cannot be checked: ${compiled.failure.reason}`
      : compiled.success(result.structuredContent)[0]?.message
    if (wrong === undefined) return result
    const message = `The structured content of the tool ${name} does not fit its output schema: ${wrong}`
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message)
  }
}
