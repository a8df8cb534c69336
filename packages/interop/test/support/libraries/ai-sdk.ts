/** Vercel's AI SDK, with its model for tests. */
import { createMCPClient } from "@ai-sdk/mcp"
import { Experimental_StdioMCPTransport as StdioTransport } from "@ai-sdk/mcp/mcp-stdio"
import { compileCache } from "@effect-mcp/spec/compileCache"
import { generateText, isStepCount } from "ai"
import { MockLanguageModelV4 } from "ai/test"
import { type Connect, limit, maxTurns, nextOf, Scripted } from "./library.ts"

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 }
}

type Prompt = MockLanguageModelV4["doGenerateCalls"][number]["prompt"]

/** Text of the last tool result in a prompt. */
const resultIn = (prompt: Prompt): string | undefined => {
  const last = prompt.at(-1)
  if (last?.role !== "tool") return undefined
  const part = last.content.at(-1)
  if (part?.type !== "tool-result") return undefined
  const { output } = part
  if (output.type !== "content") return "value" in output ? JSON.stringify(output.value) : output.type
  return output.value.map((one) => (one.type === "text" ? one.text : one.type)).join("\n")
}

export const connect: Connect = async (reach) => {
  const client = await createMCPClient({
    transport:
      "url" in reach
        ? { type: "http", url: reach.url }
        : new StdioTransport({
            command: process.execPath,
            args: [...reach.args],
            env: { ...compileCache },
            stderr: "ignore"
          })
  })
  return {
    run: async (script) => {
      const scripted = new Scripted(script)
      const model = new MockLanguageModelV4({
        doGenerate: async ({ prompt, tools = [] }) => {
          const offered = tools.flatMap((one) =>
            one.type === "function" ? [{ name: one.name, schema: { ...one.inputSchema } }] : []
          )
          const call = scripted.next(offered, resultIn(prompt))
          return {
            usage,
            warnings: [],
            finishReason: { unified: call === undefined ? "stop" : "tool-calls", raw: undefined },
            content: [
              call === undefined
                ? { type: "text", text: "Done" }
                : {
                    type: "tool-call",
                    toolCallId: `call-${prompt.length}`,
                    toolName: call.name,
                    input: JSON.stringify(call.args)
                  }
            ]
          }
        }
      })
      await generateText({
        model,
        tools: await client.tools(),
        prompt: "Go",
        stopWhen: isStepCount(maxTurns),
        timeout: { toolMs: limit }
      })
      return scripted
    },
    read: async (uri) => {
      const [content] = (await client.readResource({ uri })).contents
      return { text: String(content?.["text"]), next: nextOf(content?.["_meta"]) }
    },
    close: () => client.close()
  }
}
