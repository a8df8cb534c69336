/** Servers whose declarations change while they run, and which record everything they receive. */
import * as McpClients from "@effect-mcp/client/McpClients"
import { Extensions, Memory } from "@effect-mcp/core"
import { PromptRegistry } from "@effect-mcp/core/Prompts"
import { ResourceRegistry } from "@effect-mcp/core/Resources"
import { ToolRegistry } from "@effect-mcp/core/Tools"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Revision from "@effect-mcp/protocol/Revision"
import type { Prompt } from "@effect-mcp/protocol/model/Prompt"
import type { Resource } from "@effect-mcp/protocol/model/Resource"
import type { CallToolResult, Tool } from "@effect-mcp/protocol/model/Tool"
import * as McpServer from "@effect-mcp/server/McpServer"
import type { Skill } from "@effect-mcp/skills/Skill"
import { SkillsExtension } from "@effect-mcp/skills/SkillsExtension"
import { Context, Effect, Layer, PubSub, Stream } from "effect"

/** A tool with one text argument. */
export const tool = (name: string, description: string, more: Partial<Tool> = {}): Tool => ({
  name,
  description,
  inputSchema: { type: "object", properties: { text: { type: "string" } } },
  ...more
})

export const text = (text: string): CallToolResult => ({ content: [{ type: "text", text }] })

type Answer = (
  name: string,
  args: { readonly [name: string]: unknown }
) => Effect.Effect<CallToolResult, McpError.McpError, RequestServices>

export class Changing {
  name = "changing"
  version = "1.0.0"
  instructions: string | undefined
  tools: ReadonlyArray<Tool>
  prompts: ReadonlyArray<Prompt> = []
  resources: ReadonlyArray<Resource> = []
  /** If undefined, the server does not declare the extension. */
  skills: ReadonlyArray<Skill> | undefined
  /** Everything the server received, as JSON. */
  readonly received: Array<string> = []
  readonly answer: Answer
  private readonly hub = Effect.runSync(PubSub.unbounded<void>())

  constructor(tools: ReadonlyArray<Tool>, answer: Answer = (name) => Effect.succeed(text(`called ${name}`))) {
    this.tools = tools
    this.answer = answer
  }

  /** Tells connected clients that the tools have changed. */
  change(tools: ReadonlyArray<Tool>): void {
    this.tools = tools
    PubSub.publishUnsafe(this.hub, undefined)
  }

  private note(...values: ReadonlyArray<unknown>): void {
    this.received.push(JSON.stringify(values))
  }

  private get skillMethods() {
    const { skills } = this
    if (skills === undefined) return Layer.empty
    return Extensions.layer(SkillsExtension, {
      settings: {},
      requests: {
        list: () => Effect.sync(() => ({ skills: this.skills ?? [] })),
        get: ({ uri }) =>
          Effect.suspend(() => {
            const skill = this.skills?.find((one) => one.uri === uri)
            return skill === undefined ? McpError.invalidParams("No such skill") : Effect.succeed({ skill })
          }),
        readDirectory: () => McpError.invalidParams("No directories")
      }
    })
  }

  private get features() {
    const changes = Stream.fromPubSub(this.hub)
    const notFound = () => undefined
    const lists = Layer.effectDiscard(
      Effect.gen({ self: this }, function* () {
        const tools = yield* ToolRegistry
        const prompts = yield* PromptRegistry
        const resources = yield* ResourceRegistry
        yield* tools.mount({
          list: Effect.sync(() => this.tools),
          call: ({ arguments: args = {}, name }) => {
            this.note("tools/call", name, args)
            return this.answer(name, args)
          },
          changes
        })
        yield* prompts.mount({
          list: Effect.sync(() => this.prompts),
          get: ({ arguments: args, name }) => {
            this.note("prompts/get", name, args)
            return Effect.succeed({ messages: [{ role: "user", content: { type: "text", text: name } }] })
          },
          changes: Stream.never
        })
        yield* resources.mount({
          list: Effect.sync(() => this.resources),
          templates: Effect.succeed([]),
          read: ({ uri }) => {
            this.note("resources/read", uri)
            return Effect.succeed({ contents: [{ uri, text: "data" }] })
          },
          watch: notFound,
          matches: () => false,
          changes: Stream.never
        })
      })
    )
    return Layer.merge(lists, this.skillMethods)
  }

  /** Opens a connection to the server, as it is now. */
  readonly connector = Effect.gen({ self: this }, function* () {
    const { instructions, name, version } = this
    // Lists the schemas unchanged, because projection would drop a hostile server's additions.
    const portability = "off"
    const built = yield* Layer.build(
      McpServer.layer({ name, version, instructions, portability, features: this.features })
    )
    const [near, far] = yield* Memory.pair()
    yield* Context.get(built, McpServer.McpServer).connect(far)
    return near
  })
}

/** The server as a row of `McpClients`, in one revision. */
export const row = (server: Changing, revision: Revision.Revision) =>
  McpClients.server({ connector: server.connector, client: { revisions: [revision.version] } })
