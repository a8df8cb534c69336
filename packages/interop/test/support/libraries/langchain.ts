/** LangChain with its MCP adapters, and a model that follows a script. */
import { compileCache } from "@effect-mcp/spec/compileCache"
import type { BaseChatModelParams, BindToolsInput } from "@langchain/core/language_models/chat_models"
import { BaseChatModel } from "@langchain/core/language_models/chat_models"
import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages"
import type { ChatResult } from "@langchain/core/outputs"
import { convertToOpenAITool } from "@langchain/core/utils/function_calling"
import { createReactAgent } from "@langchain/langgraph/prebuilt"
import { MultiServerMCPClient } from "@langchain/mcp-adapters"
import { type Connect, limit, maxTurns, type OfferedTool, Scripted } from "./library.ts"

/**
 * Text of a tool result as a chat model of LangChain receives it. As seen in 1.1.4 of the adapters, a result with one text and structured
 * content arrives as the JSON of a block, so the model reads the text with escaped quotes.
 */
const resultIn = (last: BaseMessage | undefined): string | undefined => {
  if (last === undefined || !ToolMessage.isInstance(last)) return undefined
  const { content } = last
  if (typeof content !== "string")
    return content.map((part) => String("text" in part ? part["text"] : part.type)).join("\n")
  return content.startsWith('{"type":"text"') ? String(JSON.parse(content).text) : content
}

class ScriptedChat extends BaseChatModel {
  private readonly scripted: Scripted
  private offered: ReadonlyArray<OfferedTool> = []

  constructor(scripted: Scripted, params: BaseChatModelParams = {}) {
    super(params)
    this.scripted = scripted
  }

  override _llmType(): string {
    return "scripted"
  }

  /** Converts the tools as LangChain's models of providers do. */
  override bindTools(tools: Array<BindToolsInput>): this {
    this.offered = tools.map((tool) => {
      const { name, parameters } = convertToOpenAITool(tool as never).function
      return { name, schema: { ...parameters } }
    })
    return this
  }

  override async _generate(messages: Array<BaseMessage>): Promise<ChatResult> {
    const call = this.scripted.next(this.offered, resultIn(messages.at(-1)))
    const message =
      call === undefined
        ? new AIMessage("Done")
        : new AIMessage({
            content: "",
            tool_calls: [{ type: "tool_call", id: `call-${messages.length}`, name: call.name, args: { ...call.args } }]
          })
    return { generations: [{ text: "", message }] }
  }
}

const name = "server"

export const connect: Connect = async (reach) => {
  const client = new MultiServerMCPClient({
    mcpServers: {
      [name]:
        "url" in reach
          ? { transport: "http", url: reach.url, automaticSSEFallback: false }
          : {
              transport: "stdio",
              command: process.execPath,
              args: [...reach.args],
              env: { ...compileCache },
              stderr: "ignore"
            }
    },
    defaultToolTimeout: limit
  })
  const tools = await client.getTools()
  return {
    run: async (script) => {
      const scripted = new Scripted(script)
      const agent = createReactAgent({ llm: new ScriptedChat(scripted), tools })
      await agent.invoke({ messages: [{ role: "user", content: "Go" }] }, { recursionLimit: 2 * maxTurns })
      return scripted
    },
    read: async (uri) => {
      const [content] = await client.readResource(name, uri)
      // The adapter drops `_meta`, so the next range is only in the text of the result.
      return { text: content?.text ?? "", next: undefined }
    },
    close: () => client.close()
  }
}
