/**
 * The tools of MCP servers as a toolkit of `effect/ai`, for any `LanguageModel`.
 *
 * Names, descriptions, schemas and hints are those of a stranger: the model sees them, and nothing here decides by them.
 */
import type { CallEvent, McpClient } from "@effect-mcp/client/McpClient"
import type { ClientError } from "@effect-mcp/client/ClientError"
import type { MergedClients, NameClash } from "@effect-mcp/client/McpClients"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Model from "@effect-mcp/protocol/model/Tool"
import * as AiTool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { partOf } from "../content/parts.ts"

/** Why a call of a server's tool gave no result; the model reads it. */
export const CallFailure = Schema.Struct({ message: Schema.String })
export type CallFailure = typeof CallFailure.Type

/** A tool of a server. Its result is as the server gave it: `structuredContent` is data, `content` is for the model. */
export type RemoteTool = AiTool.Tool<
  string,
  {
    readonly parameters: typeof Schema.Unknown
    readonly success: typeof Model.CallToolResult
    readonly failure: typeof CallFailure
    readonly failureMode: "return"
  }
>

/** Two tools have one name for the model: give their clients prefixes. */
export class NameTaken extends Data.TaggedError("NameTaken")<{ readonly name: string; readonly message: string }> {}

export interface Options {
  /** Comes before the names of the tools, such as `github_`. Default: none. */
  readonly prefix?: string | undefined
  /** Which tools the model gets. Default: all. */
  readonly filter?: ((tool: Model.Tool) => boolean) | undefined
  /**
   * Whether a call waits for the user's approval, by `LanguageModel`'s own requests for it. Hints such as `readOnlyHint` come from the
   * server: trust them only as much as the server. Default: no call waits here (`Consent` of the client asks for each call).
   */
  readonly needsApproval?: ((tool: Model.Tool) => boolean) | undefined
}

/** Names that all providers take. */
const maxName = 64
const nameOf = (prefix: string, name: string): string =>
  `${prefix}${name}`.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, maxName)

const textOf = ({ content }: Model.CallToolResult): string =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")

type Bound = readonly [RemoteTool, Toolkit.HandlersFrom<Record<string, RemoteTool>>[string]]

/** A call of a tool: its progress, and its result. */
type Call = (input: {
  readonly [name: string]: unknown
}) => Stream.Stream<CallEvent<Model.CallToolResult>, { readonly message: string }>

/** A tool for the model, and its calls. Progress of a call is its preliminary results. */
const bind = (call: Call, tool: Model.Tool, name: string, options: Options): Bound => {
  const { annotations: hints = {}, description = "", inputSchema, title } = tool
  const bound = AiTool.dynamic(name, {
    description,
    parameters: { ...inputSchema },
    success: Model.CallToolResult,
    failure: CallFailure,
    failureMode: "return",
    needsApproval: options.needsApproval?.(tool),
    toModelOutput: ({ content }: Model.CallToolResult) => content.map(partOf)
  })
    .annotate(AiTool.Strict, false)
    .annotate(AiTool.Title, title ?? hints.title ?? tool.name)
    .annotate(AiTool.Readonly, hints.readOnlyHint ?? false)
    .annotate(AiTool.Destructive, hints.destructiveHint ?? true)
    .annotate(AiTool.Idempotent, hints.idempotentHint ?? false)
    .annotate(AiTool.OpenWorld, hints.openWorldHint ?? true)
  const fail = (message: string) => Effect.fail({ message })
  return [
    bound,
    (input, { preliminary }) => {
      if (!isJsonObject(input)) return fail(`The arguments of ${name} must be a JSON object`)
      let result: Model.CallToolResult | undefined
      return call(input).pipe(
        Stream.runForEach((event) => {
          if (event._tag === "Progress") {
            const { message, progress, total } = event
            const said = message ?? `${progress}${total === undefined ? "" : ` of ${total}`}`
            return preliminary({ content: [{ type: "text", text: said }] })
          }
          result = event.value
          return Effect.void
        }),
        Effect.catch((error) => fail(error.message)),
        Effect.flatMap(() => {
          if (result === undefined) return fail(`The server gave no result of ${tool.name}`)
          return result.isError === true ? fail(textOf(result)) : Effect.succeed(result)
        })
      )
    }
  ]
}

/** A tool of a server as it is offered. */
interface Offered {
  readonly tool: Model.Tool
  /** Its name before the model's rules for names. */
  readonly name: string
  readonly call: Call
  readonly options: Options
}

/** The toolkit of tools that pass their filters. */
const toolkitOf = (
  offered: ReadonlyArray<Offered>
): Effect.Effect<Toolkit.WithHandler<Record<string, RemoteTool>>, NameTaken> =>
  Effect.gen(function* () {
    const bound = new Map<string, Bound>()
    for (const { call, name: given, options, tool } of offered) {
      if (options.filter?.(tool) === false) continue
      const name = nameOf(options.prefix ?? "", given)
      if (bound.has(name)) {
        const message = `Two tools are named ${JSON.stringify(name)} for the model; give their clients a prefix, or filter one out`
        return yield* new NameTaken({ name, message })
      }
      bound.set(name, bind(call, tool, name, options))
    }
    const toolkit = Toolkit.make(...Array.from(bound.values(), ([tool]) => tool))
    const handlers = Object.fromEntries(Array.from(bound, ([name, [, handler]]) => [name, handler]))
    return yield* Effect.provideContext(toolkit, yield* toolkit.toHandlers(handlers))
  })

/**
 * The tools that a server lists now, ready for `LanguageModel.generateText({ toolkit })`. Make it again where the list may have changed.
 *
 * The model gets names of letters, digits, `_` and `-`, at most 64; other characters become `_`. A failure, of the tool or of the
 * connection, is a result that the model reads. Images and audio of a result are files for the model.
 *
 * @example
 * ```ts
 * import { RemoteToolkit } from "@effect-mcp/ai"
 * import { McpClient } from "@effect-mcp/client"
 * import { Effect } from "effect"
 * import { LanguageModel } from "effect/ai"
 *
 * export const ask = (prompt: string) =>
 *   Effect.gen(function* () {
 *     const client = yield* McpClient.McpClient
 *     const toolkit = yield* RemoteToolkit.fromClient(client)
 *     return (yield* LanguageModel.generateText({ prompt, toolkit })).text
 *   })
 * ```
 */
export const fromClient = (
  client: McpClient["Service"],
  options: Options = {}
): Effect.Effect<Toolkit.WithHandler<Record<string, RemoteTool>>, ClientError | NameTaken> =>
  fromClients([[client, options]])

/** The same for the tools of several servers, as one toolkit. Fails where two tools have one name for the model. */
export const fromClients = (
  clients: ReadonlyArray<readonly [McpClient["Service"], Options?]>
): Effect.Effect<Toolkit.WithHandler<Record<string, RemoteTool>>, ClientError | NameTaken> =>
  Effect.forEach(
    clients,
    ([client, options = {}]) =>
      Effect.map(Stream.runCollect(client.listTools), (tools) =>
        tools.map((tool): Offered => ({
          tool,
          options,
          name: tool.name,
          call: (input) => client.callToolByNameStream(tool.name, input)
        }))
      ),
    { concurrency: "unbounded" }
  ).pipe(Effect.flatMap((lists) => toolkitOf(lists.flat())))

/**
 * The tools of all servers of `McpClients` that are connected, by their names in the merged list. A call of a server that is gone by then is
 * a failure that the model reads.
 *
 * @example
 * ```ts
 * import { RemoteToolkit } from "@effect-mcp/ai"
 * import { McpClients } from "@effect-mcp/client/McpClients"
 * import { Effect } from "effect"
 * import { LanguageModel } from "effect/ai"
 *
 * export const ask = (prompt: string) =>
 *   Effect.gen(function* () {
 *     const toolkit = yield* RemoteToolkit.fromServers(yield* McpClients)
 *     return (yield* LanguageModel.generateText({ prompt, toolkit })).text
 *   })
 * ```
 */
export const fromServers = (
  clients: MergedClients,
  options: Options = {}
): Effect.Effect<Toolkit.WithHandler<Record<string, RemoteTool>>, NameClash | NameTaken> =>
  Effect.flatMap(clients.listTools, (tools) =>
    toolkitOf(
      tools.map(({ item: tool, name }) => ({
        tool,
        name,
        options,
        call: (input) => clients.callToolByNameStream(name, input)
      }))
    )
  )
