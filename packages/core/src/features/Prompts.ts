/**
 * All of a peer's prompts as one service: a registry on the server, a proxy on the client.
 *
 * `Prompts.layer` registers a prompt and its argument completers for the lifetime of the layer.
 */
import type { ContentBlock } from "@effect-mcp/protocol/model/Content"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Model from "@effect-mcp/protocol/model/Prompt"
import * as Validate from "@effect-mcp/protocol/Validate"
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

/** A source of prompts. `get` returns `undefined` if the source has no prompt with the name. */
export interface PromptSource {
  readonly list: Effect.Effect<ReadonlyArray<Model.Prompt>, McpError.McpError, QueryServices>
  readonly get: (
    params: Model.GetPromptParams
  ) => Effect.Effect<Model.GetPromptResult, McpError.McpError, RequestServices> | undefined
  /** Returns the completer for an argument of one of the source's prompts, or `undefined` if there is none. */
  readonly completerOf?: (name: string, argument: string) => Completer<QueryServices> | undefined
  /** Emits whenever the result of `list` may have changed. */
  readonly changes: Stream.Stream<void>
}

/** The prompts a program can use, local or remote. */
export class Prompts extends Context.Service<Prompts, PromptSource>()("@effect-mcp/core/Prompts") {}

/** A registered prompt. */
export interface PromptEntry {
  readonly prompt: Model.Prompt
  readonly get: (
    params: Model.GetPromptParams
  ) => Effect.Effect<Model.GetPromptResult, McpError.McpError, RequestServices>
  readonly complete: { readonly [argument: string]: Completer<QueryServices> }
  /** Returns true if the caller may see the prompt. To all other callers, the prompt doesn't exist. Default: visible to everyone. */
  readonly visible?: ((principal: Principal["Service"]) => boolean) | undefined
}

/** The prompt registry. Registering a name twice is a defect. */
export class PromptRegistry extends Context.Service<
  PromptRegistry,
  {
    readonly register: (entry: PromptEntry) => Effect.Effect<void, never, Scope.Scope>
    /** Adds all prompts of a source and prepends `prefix` to their names. `ToolRegistry.mount` explains how name clashes are resolved. */
    readonly mount: (
      source: PromptSource,
      options?: { readonly prefix?: string }
    ) => Effect.Effect<void, never, Scope.Scope>
  }
>()("@effect-mcp/core/PromptRegistry") {}

/** Handler output: the text of a single user message, one message, several messages, or a complete result. */
export type PromptOutput = string | Model.PromptMessage | ReadonlyArray<Model.PromptMessage> | Model.GetPromptResult

/** Creates a user message. */
export const user = (content: ContentBlock | string): Model.PromptMessage => ({ role: "user", content: block(content) })
/** Creates an assistant message. */
export const assistant = (content: ContentBlock | string): Model.PromptMessage => ({
  role: "assistant",
  content: block(content)
})
const block = (content: ContentBlock | string): ContentBlock =>
  typeof content === "string" ? { type: "text", text: content } : content

/** Converts a handler's output to a result. Throws if a block violates the specification. */
const resultOf = (output: PromptOutput, { description, name }: Model.Prompt): Model.GetPromptResult => {
  const messages =
    typeof output === "string"
      ? [user(output)]
      : isResult(output)
        ? output.messages
        : isMessages(output)
          ? output
          : [output]
  for (const { content } of messages) Validate.blocks(`The prompt ${name}`, [content])
  if (isResult(output)) return output
  return description === undefined ? { messages } : { description, messages }
}
const isMessages = (output: Exclude<PromptOutput, string>): output is ReadonlyArray<Model.PromptMessage> =>
  Array.isArray(output)
const isResult = (output: PromptOutput): output is Model.GetPromptResult =>
  typeof output === "object" && !isMessages(output) && "messages" in output

type Completers<R> = { readonly [argument: string]: Completer<R> }
/** Compile error for a completer whose name is not one of the prompt's arguments. */
type Stray<C, A> = string extends keyof C
  ? unknown
  : { readonly [K in Exclude<keyof C, keyof A>]: { readonly "The prompt has no argument with this name": K } }
type ServicesOf<C> = { readonly [K in keyof C]: C[K] extends Completer<infer R> ? R : never }[keyof C]

/**
 * Offers `prompt` for the lifetime of the layer. Requests with invalid arguments fail with -32602. Registering two prompts with the same
 * name is a defect.
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
    /**
     * Completers by argument name. Their services remain in the layer's requirements. A name that isn't one of the prompt's arguments is a
     * compile error.
     */
    readonly complete?: (C & Completers<unknown> & Stray<C, NoInfer<A>>) | undefined
    /** Returns true if the caller may see the prompt. To all other callers, the prompt doesn't exist. Default: visible to everyone. */
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
                Effect.map((output) => resultOf(output, prompt.descriptor)),
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
