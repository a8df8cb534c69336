/** Tools whose calls become tasks, for tests. */
import { Tool, Tools } from "@effect-mcp/core"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type { AskError } from "@effect-mcp/core/ClientInput"
import type { McpError } from "@effect-mcp/protocol/McpError"
import type { Effect } from "effect"

type Handler = () => Effect.Effect<Tool.ToolOutput, Tools.ToolFailure | AskError | McpError, RequestServices>

/** A tool without arguments. */
export const tool = (
  name: string,
  task: "optional" | "required" | undefined,
  handler: Handler,
  options: Tools.Options = {}
) => Tools.layer(Tool.make(name, { description: name, task }), handler, options)
