/** Reads the structured content of a tool result with a schema. */
import * as StructuredContent from "@effect-mcp/protocol/StructuredContent"
import type { StandardSchemaV1 } from "@standard-schema/spec"
import { RequestError } from "../Errors.ts"
import type { CallToolResult } from "../model/Results.ts"
import { described } from "../schema/Standard.ts"
import { validateOnce } from "../schema/validateOnce.ts"

const textOf = ({ content }: CallToolResult): string =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")

const structured = (tool: string, result: CallToolResult): unknown => {
  const value = StructuredContent.read(result)
  if (value !== undefined) return value
  throw new RequestError(
    "InvalidResult",
    `The tool ${tool} returned no structured content, and its text is not JSON. Use callTool to read its content`
  )
}

/** Returns the validated output. Rejects with a `RequestError`: `ToolFailure` if the tool failed, `InvalidResult` if the schema rejects its output. */
export const outputOf = async <O extends StandardSchemaV1>(
  tool: string,
  result: CallToolResult,
  schema: O
): Promise<StandardSchemaV1.InferOutput<O>> => {
  if (result.isError === true) throw new RequestError("ToolFailure", textOf(result))
  const read = await validateOnce(schema)(structured(tool, result))
  if (read.issues === undefined) return read.value
  throw new RequestError(
    "InvalidResult",
    `The output of the tool ${tool} does not match the schema: ${described(read.issues)}`
  )
}
