/**
 * Views for a server's tools. A host with MCP Apps shows the view instead of the tool's text, passes it each result, and lets it call tools.
 * Every other host uses the tool as before.
 */
import * as Extensions from "@effect-mcp/core/Extensions"
import type { CacheHint } from "@effect-mcp/core/CacheHint"
import type { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Resources from "@effect-mcp/core/Resources"
import { ToolRegistry } from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Middleware from "@effect-mcp/server/Middleware"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { lists, malformed } from "../contract/Origins.ts"
import type { OutputOf } from "../view/types.ts"
import { type Csp, flatUriKey, mimeType, type Permissions, shows, UiExtension } from "../contract/UiExtension.ts"
import { htmlOf, type PageSource } from "./Page.ts"

export type { PageSource } from "./Page.ts"

/** A tool, or its name. */
export type NamedTool = string | { readonly name: string }

/** A view: its page, and everything that the page needs. */
export type Options<T extends NamedTool = NamedTool> = PageSource & {
  /** URI of the view's resource. Must start with `ui://`. Default: `ui://` and the name of the first tool. */
  readonly uri?: string | undefined
  /** Name to show in user interfaces. Default: the URI without its scheme. */
  readonly title?: string | undefined
  readonly description?: string | undefined
  /** Origins that the page may reach. Default: none, so the page must contain everything it needs. */
  readonly csp?: Csp | undefined
  /** Browser features that the page asks for. Hosts may deny them. Default: none. */
  readonly permissions?: Permissions | undefined
  /** True if the host should draw a border and background around the view. Default: the host decides. */
  readonly prefersBorder?: boolean | undefined
  /** Origin that the host should give the view, in the host's own format. Default: the host decides. */
  readonly domain?: string | undefined
  /** True if views may also call these tools. Default true. */
  readonly callableByViews?: boolean | undefined
  /**
   * Returns the text for clients without MCP Apps, from the tool's structured output. It replaces the content of successful calls. If it
   * fails, the failure is logged and the content stays. Default: the content that the tool returns.
   */
  readonly text?: ((data: OutputOf<NoInfer<T>>) => string) | undefined
  /** How long hosts may cache the page (since 2026-07-28). Default: it is immediately stale and private. */
  readonly cache?: CacheHint | undefined
}

const nameOf = (tool: NamedTool): string => (typeof tool === "string" ? tool : tool.name)
const namesOf = (tools: NamedTool | ReadonlyArray<NamedTool>): ReadonlyArray<string> =>
  isList(tools) ? tools.map(nameOf) : [nameOf(tools)]
const isList = (tools: NamedTool | ReadonlyArray<NamedTool>): tools is ReadonlyArray<NamedTool> => Array.isArray(tools)

const annotated = (names: ReadonlyArray<string>, meta: JsonObject): Layer.Layer<never, never, ToolRegistry> =>
  Layer.effectDiscard(
    Effect.flatMap(ToolRegistry, ({ annotate }) =>
      Effect.forEach(names, (name) => annotate(name, meta), { discard: true })
    )
  )

const defined = (fields: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** Returns the policy in the formats of the extension and of ChatGPT. Always includes the two lists that hosts require. */
const metaOf = ({
  csp = {},
  domain,
  permissions,
  prefersBorder
}: Pick<Options, "csp" | "domain" | "permissions" | "prefersBorder">): JsonObject => {
  const full = { connectDomains: [], resourceDomains: [], ...csp }
  return {
    ui: defined({ csp: full, permissions, domain, prefersBorder }),
    "openai/widgetCSP": defined({
      connect_domains: full.connectDomains,
      resource_domains: full.resourceDomains,
      frame_domains: csp.frameDomains
    })
  }
}

/** Returns why the options cannot work, or `undefined`. */
const problemOf = (
  names: ReadonlyArray<string>,
  uri: string,
  { csp = {} }: Pick<Options, "csp">
): string | undefined => {
  if (names.length === 0) return "A view needs at least one tool"
  if (!uri.startsWith("ui://") || !Resources.isUri(uri))
    return `The URI of a view must start with ui://: ${JSON.stringify(uri)}`
  const unknown = Object.keys(csp).find((key) => !lists.some((list) => list === key))
  if (unknown !== undefined)
    return `The csp option of ${uri} has an unknown key ${JSON.stringify(unknown)}. Expected one of ${lists.join(", ")}`
  const [wrong] = malformed(csp)
  return wrong === undefined
    ? undefined
    : `The csp option of ${uri} contains ${JSON.stringify(wrong)}. Expected an origin, such as https://api.example.com or https://*.example.com`
}

/**
 * Gives tools a view, for the lifetime of the layer. The tools themselves are registered as usual, with `Tools.layer`; they may share one
 * view. The view receives the tool's arguments and its result, so give the tool an `output`.
 *
 * Hosts without MCP Apps ignore the view and show the tool's content. Before revision 2025-06-18, tools cannot name a view.
 *
 * A page that cannot be read, an invalid origin, or a tool that already has a view is a defect.
 *
 * @example
 * ```ts
 * import { App } from "@effect-mcp/apps"
 * import { Tool, Tools } from "@effect-mcp/core"
 * import { McpTest } from "@effect-mcp/testing"
 * import { Console, Effect, Layer, Schema } from "effect"
 *
 * const Dice = Tool.make("dice", { description: "Rolls a die", output: { eyes: Schema.Int } })
 *
 * const features = Layer.merge(
 *   Tools.layer(Dice, () => Effect.succeed({ eyes: 4 })),
 *   App.layer(Dice, { html: "<!doctype html><title>Dice</title><p>Rolling ...", prefersBorder: true })
 * )
 *
 * const program = Effect.gen(function* () {
 *   const client = yield* McpTest.connect(features, "2026-07-28")
 *   const { contents } = yield* client.readResource("ui://dice")
 *   yield* Console.log(contents[0]?.mimeType) // => text/html;profile=mcp-app
 * })
 *
 * await Effect.runPromise(Effect.scoped(program))
 * ```
 */
export const layer = <T extends NamedTool>(
  tools: T | ReadonlyArray<T>,
  options: Options<T>
): Layer.Layer<never, never, Middleware.MiddlewareRegistry | ToolRegistry | Resources.ResourceRegistry> => {
  const names = namesOf(tools)
  const { cache, callableByViews = true, description, uri = `ui://${names[0] ?? ""}`, title } = options
  const problem = problemOf(names, uri, options)
  if (problem !== undefined) throw new Error(problem)
  const meta = metaOf(options)
  const linked = annotated(names, {
    ui: { resourceUri: uri, visibility: callableByViews ? ["model", "app"] : ["model"] },
    [flatUriKey]: uri
  })
  const resource = (html: string) =>
    Resources.layer(
      { uri, name: title ?? uri.slice("ui://".length), title, description, mimeType, meta, cache },
      Effect.succeed([{ uri, mimeType, text: html, _meta: meta }])
    )
  const { text } = options
  return Layer.mergeAll(
    linked,
    Layer.unwrap(Effect.map(htmlOf(uri, options), resource)),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server has encoded the data by the tool's output
    text === undefined ? Layer.empty : withText(new Set(names), (data) => text(data as OutputOf<T>))
  )
}

/** True if the client that sent the request shows views. */
export const isShown: Effect.Effect<boolean, never, RequestContext> = Effect.match(Extensions.declared(UiExtension), {
  onFailure: () => false,
  onSuccess: Option.exists(shows)
})

/** Replaces the content of calls by clients without MCP Apps. */
const withText = (names: ReadonlySet<string>, text: (data: unknown) => string) =>
  Layer.effectDiscard(
    Effect.flatMap(Middleware.MiddlewareRegistry, ({ register }) =>
      register(
        (_, next) =>
          Effect.gen(function* () {
            const result = yield* next
            if (!("content" in result) || result.isError === true || result.structuredContent === undefined)
              return result
            if (yield* isShown) return result
            const { structuredContent: data } = result
            const given = yield* Effect.exit(Effect.sync((): unknown => text(data)))
            if (Exit.isSuccess(given) && typeof given.value === "string")
              return { ...result, content: [{ type: "text" as const, text: given.value }] }
            yield* Effect.logError(
              "The text option of a view did not return a text, so the tool's content is used",
              given
            )
            return result
          }),
        {
          method: "tools/call",
          when: (request) => request.method === "tools/call" && names.has(request.params.name)
        }
      )
    )
  )

/**
 * Makes tools callable by views only, for the lifetime of the layer. Hosts with MCP Apps hide them from the model. To clients without MCP
 * Apps the tools don't exist.
 *
 * @example
 * ```ts
 * import { App } from "@effect-mcp/apps"
 * import { Tool, Tools } from "@effect-mcp/core"
 * import { Effect, Layer, Schema } from "effect"
 *
 * const Save = Tool.make("save", { description: "Saves a drawing", input: { svg: Schema.String } })
 *
 * export const save = Layer.merge(
 *   Tools.layer(Save, () => Effect.succeed("Saved")),
 *   App.layerForViews(Save)
 * )
 * ```
 */
export const layerForViews = (
  tools: NamedTool | ReadonlyArray<NamedTool>
): Layer.Layer<never, never, ToolRegistry | Middleware.MiddlewareRegistry> => {
  const names = new Set(namesOf(tools))
  const hidden = <A, E, R, B, E2, R2>(shown: Effect.Effect<A, E, R>, otherwise: Effect.Effect<B, E2, R2>) =>
    Effect.flatMap(isShown, (isShown): Effect.Effect<A | B, E | E2, R | R2> => (isShown ? shown : otherwise))
  const listed = Middleware.on("tools/list", (_, next) =>
    hidden(
      next,
      Effect.map(next, (result) =>
        "tools" in result ? { ...result, tools: result.tools.filter(({ name }) => !names.has(name)) } : result
      )
    )
  )
  const called = Layer.effectDiscard(
    Effect.flatMap(Middleware.MiddlewareRegistry, ({ register }) =>
      register(
        (request, next) =>
          request.method === "tools/call" ? hidden(next, Effect.fail(McpError.unknownTool(request.params.name))) : next,
        {
          method: "tools/call",
          when: (request) => request.method === "tools/call" && names.has(request.params.name)
        }
      )
    )
  )
  return Layer.mergeAll(annotated([...names], { ui: { visibility: ["app"] } }), listed, called)
}
