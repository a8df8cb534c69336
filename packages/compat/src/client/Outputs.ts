/** Output schemas of the tools that a client has listed (spec: server/tools). Call results must match them. */
import { BoundedMap } from "@effect-mcp/core/internal/inFlight"
import * as JsonSchemaValidator from "@effect-mcp/protocol/JsonSchemaValidator"
import * as Result from "effect/Result"
import { ProtocolError, ProtocolErrorCode } from "../model/errors.ts"
import type { CallToolResult, Tool } from "../model/types.ts"

type Validator = ReturnType<typeof JsonSchemaValidator.compile>

/** Maximum number of tools whose schemas to keep. The oldest are dropped first. */
const maxTools = 10_000

export class Outputs {
  readonly #tools = new BoundedMap<string, { readonly schema: object; validator?: Validator }>(maxTools)

  /** Keeps the schemas in a page of tools. */
  learn(tools: ReadonlyArray<Pick<Tool, "name" | "outputSchema">>): void {
    for (const { name, outputSchema } of tools) {
      if (outputSchema === undefined) this.#tools.delete(name)
      else this.#tools.set(name, { schema: outputSchema })
    }
  }

  /** Returns the result, or throws if it does not match its tool's schema. Results of tools that were not listed are not checked. */
  checked(name: string, result: CallToolResult): CallToolResult {
    const tool = this.#tools.get(name)
    if (tool === undefined || result.isError === true) return result
    if (result.structuredContent === undefined) {
      const message = `The tool ${name} has an output schema but returned no structured content`
      throw new ProtocolError(ProtocolErrorCode.InvalidRequest, message)
    }
    const compiled = (tool.validator ??= JsonSchemaValidator.compile(tool.schema))
    const wrong = Result.isFailure(compiled)
      ? `cannot be checked: ${compiled.failure.reason}`
      : compiled.success(result.structuredContent)[0]?.message
    if (wrong === undefined) return result
    const message = `The structured content of the tool ${name} does not match its output schema: ${wrong}`
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message)
  }
}
