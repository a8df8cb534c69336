/**
 * The prompts of a peer, behind one tag: a registry on the server, a proxy on the client.
 *
 * `Prompts.layer` registers a prompt for as long as the layer lives, with the completers of its arguments.
 */
import type { ContentBlock } from "@effect-mcp/protocol/model/Content"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Model from "@effect-mcp/protocol/model/Prompt"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { AskError } from "../request/ClientInput.ts"
import { askErrorToMcp } from "../request/askErrorToMcp.ts"
import { type Completer, inQuery } from "./Completions.ts"
import { registrationLayer } from "./registration.ts"
import { HandlerContext } from "./HandlerContext.ts"
import type { Principal } from "../transport/Principal.ts"
import type { Prompt } from "../contract/Prompt.ts"
import type { QueryServices, RequestServices } from "../request/RequestContext.ts"

/** A source of prompts. `get` gives `undefined` for a name that the source does not have. */
export interface PromptSource {
  readonly list: Effect.Effect<ReadonlyArray<Model.Prompt>, McpError.McpError, QueryServices>
  readonly get: (
    params: Model.GetPromptParams
  ) => Effect.Effect<Model.GetPromptResult, McpError.McpError, RequestServices> | undefined
  /** The completer of an argument of one of its prompts; `undefined` where there is none. */
  readonly completerOf?: (name: string, argument: string) => Completer<QueryServices> | undefined
  /** One event whenever `list` may answer differently. */
  readonly changes: Stream.Stream<void>
}

/** The prompts that a program gets, wherever they are. */
export class Prompts extends Context.Service<Prompts, PromptSource>()("@effect-mcp/core/Prompts") {}

/** A prompt as a registry holds it. */
export interface PromptEntry {
  readonly prompt: Model.Prompt
  readonly get: (
    params: Model.GetPromptParams
  ) => Effect.Effect<Model.GetPromptResult, McpError.McpError, RequestServices>
  readonly complete: { readonly [argument: string]: Completer<QueryServices> }
  /** Whether a caller sees the prompt; otherwise it does not exist. Default true. */
  readonly visible?: ((principal: Principal["Service"]) => boolean) | undefined
}

/** Where feature layers register. A name that is taken is a defect. */
export class PromptRegistry extends Context.Service<
  PromptRegistry,
  {
    readonly register: (entry: PromptEntry) => Effect.Effect<void, never, Scope.Scope>
    /** Adds all prompts of a source; `prefix` comes before their names. For two of one name see `ToolRegistry.mount`. */
    readonly mount: (
      source: PromptSource,
      options?: { readonly prefix?: string }
    ) => Effect.Effect<void, never, Scope.Scope>
  }
>()("@effect-mcp/core/PromptRegistry") {}

/** What a handler returns: the text of one user message, one message, several, or the whole result. */
export type PromptOutput = string | Model.PromptMessage | ReadonlyArray<Model.PromptMessage> | Model.GetPromptResult

/** A message of the user. */
export const user = (content: ContentBlock | string): Model.PromptMessage => ({ role: "user", content: block(content) })
/** A message of the assistant. */
export const assistant = (content: ContentBlock | string): Model.PromptMessage => ({
  role: "assistant",
  content: block(content)
})
const block = (content: ContentBlock | string): ContentBlock =>
  typeof content === "string" ? { type: "text", text: content } : content

/** The result of a handler. */
export const resultOf = (output: PromptOutput, description: string | undefined): Model.GetPromptResult => {
  if (isResult(output)) return output
  const messages = typeof output === "string" ? [user(output)] : isMessages(output) ? output : [output]
  return description === undefined ? { messages } : { description, messages }
}
const isMessages = (output: Exclude<PromptOutput, string>): output is ReadonlyArray<Model.PromptMessage> =>
  Array.isArray(output)
const isResult = (output: PromptOutput): output is Model.GetPromptResult =>
  typeof output === "object" && !isMessages(output) && "messages" in output

type Completers<R> = { readonly [argument: string]: Completer<R> }
/** The type error of a completer whose argument the prompt does not have. */
type Stray<C, A> = string extends keyof C
  ? unknown
  : { readonly [K in Exclude<keyof C, keyof A>]: { readonly "The prompt has no argument of this name": K } }
type ServicesOf<C> = { readonly [K in keyof C]: C[K] extends Completer<infer R> ? R : never }[keyof C]

/**
 * Offers `prompt` for as long as the layer lives. Arguments that do not fit are answered by -32602. Two prompts of one name are a defect.
 *
 * @example
 * ```ts
 * import { Completions, Prompt, Prompts } from "@effect-mcp/core"
 * import { McpTest } from "@effect-mcp/testing"
 * import { Console, Effect, Schema } from "effect"
 *
 * const Translate = Prompt.make("translate", { arguments: { text: Schema.String, language: Schema.String } })
 *
 * const translate = Prompts.layer(
 *   Translate,
 *   ({ language, text }) => Effect.succeed([Prompts.user(`Translate into ${language}: ${text}`)]),
 *   { complete: { language: Completions.choices(["English", "French"]) } }
 * )
 *
 * const program = Effect.gen(function* () {
 *   const client = yield* McpTest.connect(translate, "2026-07-28")
 *   const { messages } = yield* client.getPrompt(Translate, { text: "merci", language: "English" })
 *   for (const { content } of messages) if (content.type === "text") yield* Console.log(content.text) // => Translate into English: merci
 * })
 *
 * await Effect.runPromise(Effect.scoped(program))
 * ```
 */
export const layer = <A, R, C = {}>(
  prompt: Prompt<A>,
  handler: (args: A) => Effect.Effect<PromptOutput, AskError | McpError.McpError, R>,
  options: {
    /** Completers by argument; their services stay in the layer's requirements. A name that is no argument of the prompt does not compile. */
    readonly complete?: (C & Completers<unknown> & Stray<C, NoInfer<A>>) | undefined
    /** Whether a caller sees the prompt; otherwise it does not exist. Default true. */
    readonly visible?: ((principal: Principal["Service"]) => boolean) | undefined
  } = {}
): Layer.Layer<never, never, PromptRegistry | Exclude<R, RequestServices> | Exclude<ServicesOf<C>, QueryServices>> =>
  registrationLayer(
    PromptRegistry,
    (registry, services: Context.Context<Exclude<R, RequestServices> | Exclude<ServicesOf<C>, QueryServices>>) => {
      const context = new HandlerContext<R>(services)
      const messages = context.provided(handler)
      // oxlint-disable-next-line typescript/no-explicit-any -- what each needs is part of what all need; a record's type cannot say so
      const completers: Completers<any> = options.complete ?? {}
      const stray = Object.keys(completers).find(
        (name) => !prompt.descriptor.arguments?.some((one) => one.name === name)
      )
      if (stray !== undefined) return Effect.die(new Error(`The prompt ${prompt.name} has no argument ${stray}`))
      return registry.register({
        prompt: prompt.descriptor,
        get: (params) =>
          Effect.matchEffect(prompt.decode(params.arguments ?? {}), {
            onFailure: ({ message }) =>
              Effect.fail(McpError.invalidParams(`Invalid arguments for prompt ${prompt.name}: ${message}`)),
            onSuccess: (args) =>
              messages(args).pipe(
                Effect.map((output) => resultOf(output, prompt.descriptor.description)),
                Effect.catch((error) =>
                  error instanceof McpError.McpError ? Effect.fail(error) : askErrorToMcp(error)
                )
              )
          }),
        complete: inQuery(completers, services),
        visible: options.visible
      })
    }
  )
