/** OpenAI's Agents SDK, with its model for tests. */
import {
  Agent,
  MCPServerStdio,
  MCPServerStreamableHttp,
  Runner,
  type AgentInputItem,
  type ModelRequest
} from "@openai/agents-core"
import { assistantMessage, functionCall, modelResponder, ScriptedModel } from "@openai/agents-core/testing"
import { compileCache } from "@effect-mcp/spec/compileCache"
import { type Connect, limit, maxTurns, nextOf, Scripted } from "./library.ts"

// Its default of 5 seconds is short for a process that starts on a busy machine.
const limits = { clientSessionTimeoutSeconds: limit / 1000, timeout: limit }

/** Text of the last tool result in a prompt. */
const resultIn = (input: string | ReadonlyArray<AgentInputItem>): string | undefined => {
  const last = typeof input === "string" ? undefined : input.at(-1)
  if (last?.type !== "function_call_result") return undefined
  const parts = Array.isArray(last.output) ? last.output : [last.output]
  return parts
    .map((part) => {
      if (typeof part === "string") return part
      return "text" in part ? part.text : part.type
    })
    .join("\n")
}

const toolsIn = ({ tools }: ModelRequest) =>
  tools.flatMap((tool) =>
    tool.type === "function" ? [{ name: tool.name, schema: { ...tool.parameters }, strict: tool.strict }] : []
  )

export const connect: Connect = async (reach) => {
  const server =
    "url" in reach
      ? new MCPServerStreamableHttp({ url: reach.url, ...limits })
      : new MCPServerStdio({
          command: process.execPath,
          args: [...reach.args],
          env: { ...compileCache },
          ...limits
        })
  await server.connect()
  return {
    run: async (script) => {
      const scripted = new Scripted(script)
      const turn = modelResponder(({ index, request }) => {
        const call = scripted.next(toolsIn(request), resultIn(request.input))
        return call === undefined
          ? [assistantMessage("Done")]
          : [functionCall(call.name, { ...call.args }, { callId: `call-${index}` })]
      })
      const model = new ScriptedModel(Array.from({ length: maxTurns }, () => turn))
      const runner = new Runner({ tracingDisabled: true })
      await runner.run(new Agent({ name: "agent", model, mcpServers: [server] }), "Go", { maxTurns })
      return scripted
    },
    read: async (uri) => {
      const [content] = (await server.readResource(uri)).contents
      return { text: String(content?.["text"]), next: nextOf(content?.["_meta"]) }
    },
    close: () => server.close()
  }
}
