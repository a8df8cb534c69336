/**
 * Policy for everything that leaves the client: tool calls, requests to the user's model, the list of roots, and the actions that views ask
 * for.
 *
 * The policy is asked before anything is sent and sees the outcome afterwards, so one service can both confirm and audit. It can also edit
 * prompts, answers and forms, so that a user reviews what leaves. It is read when the client is built. Providing a policy around a single
 * call therefore has no effect.
 *
 * @example
 * ```ts
 * import { Consent, McpClient } from "@effect-mcp/client"
 * import { NodeServices } from "@effect/platform-node"
 * import { Effect, Layer } from "effect"
 *
 * const readOnly = Consent.layer({
 *   ask: (action) => Effect.succeed(action._tag !== "CallTool" || action.annotations?.readOnlyHint === true),
 *   audit: (action, outcome) => Effect.logInfo(`${action._tag}: ${outcome._tag}`)
 * })
 *
 * export const client = McpClient.layerStdio({ command: "my-server" }).pipe(
 *   Layer.provide(Layer.merge(readOnly, NodeServices.layer))
 * )
 * ```
 */
import { effectOf, textOf } from "@effect-mcp/core/internal/calling"
import type { ContentBlock } from "@effect-mcp/protocol/model/Content"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { ElicitParams, ElicitResult } from "@effect-mcp/protocol/model/Elicitation"
import type { CreateMessageParams, CreateMessageResult } from "@effect-mcp/protocol/model/Sampling"
import type { ToolAnnotations } from "@effect-mcp/protocol/model/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { ConsentDenied } from "../ClientError.ts"

/** An action that needs consent, and the server involved. */
export type Action = Kind & {
  /** The server's name in the program's table, if the client belongs to `McpClients`. */
  readonly serverName?: string | undefined
}

type Kind =
  | {
      readonly _tag: "CallTool"
      readonly server: Implementation
      readonly tool: string
      readonly arguments: { readonly [name: string]: unknown }
      /** The tool's annotations, if the tool was listed. They come from the server, so don't trust them. */
      readonly annotations: ToolAnnotations | undefined
      /** URI of the view that makes the call, or `undefined` if the program makes it. */
      readonly view?: string | undefined
    }
  | { readonly _tag: "CreateMessage"; readonly server: Implementation; readonly params: CreateMessageParams }
  | { readonly _tag: "ListRoots"; readonly server: Implementation }
  | ViewAction

/** An action that a server's view asks for, in a host with `AppHost` from the apps package. `view` is the view's URI. */
export type ViewAction = { readonly server: Implementation; readonly view: string } & (
  | { readonly _tag: "OpenLink"; readonly url: string }
  | { readonly _tag: "SendMessage"; readonly content: ReadonlyArray<ContentBlock> }
  | { readonly _tag: "Download"; readonly file: string; readonly bytes: number }
)

/** A request from the server to the user's model. */
export interface SamplingAction {
  readonly server: Implementation
  readonly params: CreateMessageParams
}

/** A form from the server, and the user's answer. */
export interface FormAction {
  readonly server: Implementation
  readonly params: ElicitParams
  readonly content: ElicitContent
}

type ElicitContent = NonNullable<ElicitResult["content"]>

export interface Policy {
  /**
   * Returns `true` to allow the action; any other value denies it. A denied call fails with `ConsentDenied`, and a denied server question
   * receives an error response.
   */
  readonly ask: (action: Action) => Effect.Effect<boolean>
  /** Returns the prompt that the user's model receives instead of the server's, after `ask` has allowed it. Default: unchanged. */
  readonly editPrompt?: ((action: SamplingAction) => Effect.Effect<CreateMessageParams>) | undefined
  /** Returns the answer that the server receives instead of the model's. Default: unchanged. */
  readonly editAnswer?:
    | ((action: SamplingAction, answer: CreateMessageResult) => Effect.Effect<CreateMessageResult>)
    | undefined
  /**
   * Returns the content that the server receives instead of the user's, for a form that the user accepted. It must match the form's schema.
   * Default: unchanged.
   */
  readonly editForm?: ((action: FormAction) => Effect.Effect<ElicitContent>) | undefined
  /**
   * Called with the outcome, which is a `ConsentDenied` failure if the action was denied. If the audit itself fails, the failure is only
   * logged.
   */
  readonly audit: (action: Action, outcome: Exit.Exit<unknown, unknown>) => Effect.Effect<void>
}

/** Allows everything and keeps no record. */
export const allow: Policy = { ask: () => Effect.succeed(true), audit: () => Effect.void }

/** The consent policy. Allows everything by default. */
export const Consent = Context.Reference<Policy>("@effect-mcp/client/Consent", { defaultValue: () => allow })

/** Denies every action. Suitable for clients that only list features, read resources and get prompts. */
export const layerDeny: Layer.Layer<never> = Layer.succeed(Consent, { ...allow, ask: () => Effect.succeed(false) })

/** Provides a policy. Without `ask`, every action is allowed; without `audit`, nothing is recorded. */
export const layer = (policy: Partial<Policy>): Layer.Layer<never> => Layer.succeed(Consent, { ...allow, ...policy })

/** Returns the prompt as the policy edits it. */
export const prompted = ({ editPrompt }: Policy, action: SamplingAction): Effect.Effect<CreateMessageParams> =>
  editPrompt === undefined ? Effect.succeed(action.params) : effectOf("Consent.editPrompt", () => editPrompt(action))

/** Returns the model's answer as the policy edits it. */
export const answered = (
  { editAnswer }: Policy,
  action: SamplingAction,
  answer: CreateMessageResult
): Effect.Effect<CreateMessageResult> =>
  editAnswer === undefined ? Effect.succeed(answer) : effectOf("Consent.editAnswer", () => editAnswer(action, answer))

/** Returns the user's answer to a form as the policy edits it. */
export const filledIn = (
  { editForm }: Policy,
  server: Implementation,
  params: ElicitParams,
  answer: ElicitResult
): Effect.Effect<ElicitResult> =>
  editForm === undefined || answer.action !== "accept" || params.mode === "url"
    ? Effect.succeed(answer)
    : Effect.map(
        effectOf("Consent.editForm", () => editForm({ server, params, content: answer.content ?? {} })),
        (content) => ({ ...answer, content })
      )

/** Runs `effect` if the policy allows the action, and audits the outcome. */
export const guard = <A, E, R>(
  policy: Policy,
  action: Action,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | ConsentDenied, R> =>
  policy === allow
    ? effect
    : Effect.onExit(
        // Only `true` allows, because a JavaScript program may return any value.
        Effect.flatMap(
          effectOf("Consent.ask", () => policy.ask(action)),
          (agreed: unknown): Effect.Effect<A, E | ConsentDenied, R> =>
            agreed === true ? effect : Effect.fail(new ConsentDenied({ message: `Consent was denied: ${action._tag}` }))
        ),
        // The action has already happened, and a failing record cannot undo it.
        (exit) =>
          Effect.catchCause(
            effectOf("Consent.audit", () => policy.audit(action, exit)),
            (cause) => Effect.logError(`Failed to write an audit record for ${action._tag}: ${textOf(cause)}`)
          )
      )
