/**
 * Turns MCP server tools into an `effect/ai` toolkit, for use with any `LanguageModel`.
 *
 * Names, descriptions, schemas and hints come from an untrusted server. They are shown to the model, but nothing here relies on them for
 * decisions.
 */
import * as Annotated from "@effect-mcp/core/Annotated"
import { checkedBoolean } from "@effect-mcp/core/internal/calling"
import type { CallEvent, McpClient } from "@effect-mcp/client/McpClient"
import type { ClientError } from "@effect-mcp/client/ClientError"
import type { MergedClients, NameClash } from "@effect-mcp/client/McpClients"
import * as Portability from "@effect-mcp/protocol/Portability"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Model from "@effect-mcp/protocol/model/Tool"
import * as AiTool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Prompt from "effect/ai/Prompt"
import { type MessagePart, partOf, reader, type ReaderOptions } from "../content/parts.ts"

/** Tells the model why a tool call failed. */
export const CallFailure = Schema.Struct({ message: Schema.String })
export type CallFailure = typeof CallFailure.Type

/**
 * A tool on an MCP server. The host receives its result unchanged: `structuredContent`, and `content` for every reader. The model receives
 * only the content that is meant for it.
 */
export type RemoteTool = AiTool.Tool<
  string,
  {
    readonly parameters: typeof Schema.Unknown
    readonly success: typeof Model.CallToolResult
    readonly failure: typeof CallFailure
    readonly failureMode: "return"
  }
>

/** Two tools would have the same name for the model. Use `prefix` to distinguish their clients. */
export class NameTaken extends Data.TaggedError("NameTaken")<{ readonly name: string; readonly message: string }> {}

/** A tool call in a model's response. */
export interface ModelCall {
  /** ID of the call in the model's response. */
  readonly id: string
  /** The server's name in `McpClients`, or `undefined` for the tools of `fromClient` and `fromClients`. */
  readonly server: string | undefined
  /** The server's name for the tool. */
  readonly tool: string
  /** The arguments as the server receives them. */
  readonly input: { readonly [name: string]: unknown }
}

/** Decides about single calls whether the user must approve them. */
export interface CallApprovals {
  /** Returns true if the call must wait for the user's approval. */
  readonly needed: (call: ModelCall) => Effect.Effect<boolean>
  /** Runs around a call that needs no approval, or has it. */
  readonly within: <A, E, R>(effect: Effect.Effect<A, E, R>, call: ModelCall) => Effect.Effect<A, E, R>
}

export interface Options extends ReaderOptions {
  /** Prefix for tool names, such as `github_`. Default: no prefix. */
  readonly prefix?: string | undefined
  /** Returns true if the model may use this tool. Default: all tools. */
  readonly filter?: ((tool: Model.Tool) => boolean) | undefined
  /**
   * The model's provider. Tools that its API rejects are left out, because it would reject all other tools with them. Default: only tools
   * that no provider accepts are left out.
   */
  readonly provider?: Portability.ProviderId | undefined
  /**
   * Returns true if calls to this tool must wait for user approval, which uses `LanguageModel`'s approval requests. Hints such as
   * `readOnlyHint` come from the server, so trust them only as far as you trust it. Default: no approval here, although the client's
   * `Consent` still applies to every call.
   */
  readonly needsApproval?: ((tool: Model.Tool) => boolean) | undefined
  /**
   * Decides about single calls, with their arguments, for example `approvals` of the service `HostPolicy`. A call that needs approval becomes
   * an approval request in the model's response, and runs after the next prompt has the user's answer. Default: only `needsApproval`.
   */
  readonly approvals?: CallApprovals | undefined
}

/** Maximum length of a name that every provider accepts. */
const maxName = 64
const nameOf = (prefix: string, name: string): string =>
  `${prefix}${name}`.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, maxName)

const forModel = Annotated.isFor("assistant")

/**
 * Returns the part of a result's content that is meant for the model. If there is none, the model receives the structured content, or a
 * note that nothing is meant for it.
 */
const partsOf = (
  { content, structuredContent }: Model.CallToolResult,
  read: (text: string) => string
): ReadonlyArray<MessagePart> => {
  const shown = content.filter(forModel)
  if (shown.length > 0) return shown.map((block) => partOf(block, read))
  if (structuredContent !== undefined) return [Prompt.textPart({ text: read(JSON.stringify(structuredContent)) })]
  return content.length === 0 ? [] : [Prompt.textPart({ text: "The result is only meant for the user." })]
}

/** Returns the part of a failed call's text that is meant for the model. */
const messageOf = ({ content }: Model.CallToolResult, read: (text: string) => string): string => {
  const texts = content.filter(forModel).flatMap((block) => (block.type === "text" ? [read(block.text)] : []))
  return texts.length === 0 ? "The tool failed, without an explanation for the model." : texts.join("\n")
}

type Bound = readonly [RemoteTool, Toolkit.HandlersFrom<Record<string, RemoteTool>>[string]]

/** Calls a tool and returns its progress and its result. */
type Call = (input: {
  readonly [name: string]: unknown
}) => Stream.Stream<CallEvent<Model.CallToolResult>, { readonly message: string }>

/** Returns the reasons why the model's provider rejects a tool. Empty if it accepts the tool. */
const refusals = (
  left: ReadonlyArray<Portability.Obstacle>,
  { provider }: Pick<Options, "provider">
): ReadonlyArray<Portability.Obstacle> =>
  left.filter((obstacle) => {
    if (obstacle.part === "outputSchema" || obstacle.part === "name") return false
    if (obstacle.rule === "broken-reference") return true
    return (
      provider !== undefined &&
      Portability.evidenceFor(obstacle, [provider]).some(({ severity }) => severity === "refused")
    )
  })

/** Returns the approval of a tool's calls as `effect/ai` expects it. */
const approvalOf = (
  { approvals, needsApproval }: Options,
  tool: Model.Tool,
  callOf: (id: string, input: unknown) => ModelCall
): AiTool.NeedsApproval<typeof Schema.Unknown> | undefined => {
  const always = needsApproval && checkedBoolean("RemoteToolkit.needsApproval", needsApproval(tool))
  if (approvals === undefined) return always
  return (input, { toolCallId }) =>
    Effect.map(approvals.needed(callOf(toolCallId, input)), (needed) => needed || always === true)
}

/** Connects a tool for the model to its calls. Progress becomes preliminary results. */
const bind = (
  { call, options, server, tool: listed }: Offered,
  { original, tool }: Portability.Portable<Model.Tool>,
  name: string
): Bound => {
  const { approvals } = options
  const callOf = (id: string, input: unknown): ModelCall => ({
    id,
    server,
    tool: listed.name,
    input: isJsonObject(input) ? original(input) : {}
  })
  const read = reader(options)
  const { annotations: hints = {}, description = "", inputSchema, title } = tool
  const bound = AiTool.dynamic(name, {
    description,
    parameters: { ...inputSchema },
    success: Model.CallToolResult,
    failure: CallFailure,
    failureMode: "return",
    needsApproval: approvalOf(options, tool, callOf),
    toModelOutput: (result: Model.CallToolResult) => partsOf(result, read)
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
    (input, { preliminary, toolCallId }) => {
      if (!isJsonObject(input)) return fail(`The arguments of ${name} must be a JSON object`)
      let result: Model.CallToolResult | undefined
      const called = call(original(input)).pipe(
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
          if (result === undefined) return fail(`The server returned no result for ${tool.name}`)
          return result.isError === true ? fail(messageOf(result, read)) : Effect.succeed(result)
        })
      )
      return approvals === undefined || toolCallId === undefined
        ? called
        : approvals.within(called, callOf(toolCallId, input))
    }
  ]
}

/** A tool as offered by a server. */
interface Offered {
  readonly tool: Model.Tool
  /** Its name before it is adapted to the model's rules. */
  readonly name: string
  readonly call: Call
  readonly options: Options
  readonly server: string | undefined
}

/** Returns a toolkit with the tools that pass their filters. */
const toolkitOf = (
  offered: ReadonlyArray<Offered>
): Effect.Effect<Toolkit.WithHandler<Record<string, RemoteTool>>, NameTaken> =>
  Effect.gen(function* () {
    const bound = new Map<string, Bound>()
    for (const one of offered) {
      const { name: given, options, tool } = one
      const { filter } = options
      if (filter !== undefined && !checkedBoolean("RemoteToolkit.filter", filter(tool))) continue
      const name = nameOf(options.prefix ?? "", given)
      if (bound.has(name)) {
        const message = `Two tools have the same name for the model, ${JSON.stringify(name)}. Set a prefix for their clients, or filter one out`
        return yield* new NameTaken({ name, message })
      }
      const portable = Portability.portable(tool)
      const refused = refusals(portable.left, options)
      if (refused.length > 0) {
        const reasons = refused.map((obstacle) => `\n  - ${Portability.describe(obstacle)}`).join("")
        yield* Effect.logWarning(`Skipped the tool ${excerpt(JSON.stringify(tool.name))}:${reasons}`)
        continue
      }
      bound.set(name, bind(one, portable, name))
    }
    const toolkit = Toolkit.make(...Array.from(bound.values(), ([tool]) => tool))
    const handlers = Object.fromEntries(Array.from(bound, ([name, [, handler]]) => [name, handler]))
    return yield* Effect.provideContext(toolkit, yield* toolkit.toHandlers(handlers))
  })

/**
 * Returns the tools the server currently lists, ready for `LanguageModel.generateText({ toolkit })`. Call this again when the list may have
 * changed.
 *
 * Schemas are projected into a form that every provider accepts; calls keep their meaning. A tool that cannot be projected is left out with
 * a warning so that the other tools work. See `provider`.
 *
 * Tool names shown to the model have at most 64 letters, digits, `_` and `-`; other characters become `_`. If the tool or the connection
 * fails, the model receives the failure as the tool's result. Images and audio in a result are passed to the model as files. Content whose
 * audience is only the user is not shown to the model; the host finds it in the result, with `Annotated.isFor("user")`.
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

/** Like `fromClient`, but combines the tools of several servers into one toolkit. Fails if two tools have the same name for the model. */
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
          server: undefined,
          call: (input) => client.callToolByNameStream(tool.name, input)
        }))
      ),
    { concurrency: "unbounded" }
  ).pipe(Effect.flatMap((lists) => toolkitOf(lists.flat())))

/**
 * Returns the tools of every connected server in `McpClients`, under their merged names. If a server has gone away, the model receives the
 * failure as the tool's result.
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
      tools.map(({ item: tool, name, server }) => ({
        tool,
        name,
        server,
        options,
        call: (input) => clients.callToolByNameStream(name, input)
      }))
    )
  )
