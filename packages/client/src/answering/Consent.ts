/**
 * The policy of what may leave the client: tool calls, requests to the user's model, the list of roots.
 *
 * A policy is asked before anything is sent, and gets the outcome afterwards, so one service can confirm and audit. It is read when the
 * client is built: a policy provided around a single call has no effect.
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
import { effectOf, textOf } from "@effect-mcp/core/internal/callback"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { CreateMessageParams } from "@effect-mcp/protocol/model/Sampling"
import type { ToolAnnotations } from "@effect-mcp/protocol/model/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { ConsentDenied } from "../ClientError.ts"

/** What is about to be sent, and the server that gets or asked for it. */
export type Action = Kind & {
  /** The name of the server in the table of the program, where its clients are of `McpClients`. */
  readonly serverName?: string | undefined
}

type Kind =
  | {
      readonly _tag: "CallTool"
      readonly server: Implementation
      readonly tool: string
      readonly arguments: { readonly [name: string]: unknown }
      /** The annotations of the tool, if it was listed; they are the server's own words, and untrusted. */
      readonly annotations: ToolAnnotations | undefined
    }
  | { readonly _tag: "CreateMessage"; readonly server: Implementation; readonly params: CreateMessageParams }
  | { readonly _tag: "ListRoots"; readonly server: Implementation }

export interface Policy {
  /** Only `true` allows. A refused call fails with `ConsentDenied`; a refused question of the server gets an error. */
  readonly ask: (action: Action) => Effect.Effect<boolean>
  /** Called with the outcome, which is a failure with `ConsentDenied` after a refusal. An audit that fails is logged. */
  readonly audit: (action: Action, outcome: Exit.Exit<unknown, unknown>) => Effect.Effect<void>
}

/** Allows everything and keeps no record. */
export const allow: Policy = { ask: () => Effect.succeed(true), audit: () => Effect.void }

/** Allows everything unless a layer says otherwise. */
export const Consent = Context.Reference<Policy>("@effect-mcp/client/Consent", { defaultValue: () => allow })

/** Allows everything and keeps no record: the default. */
export const layerAllow: Layer.Layer<never> = Layer.succeed(Consent, allow)

/** Refuses every action: for clients that only list, read and get prompts. */
export const layerDeny: Layer.Layer<never> = Layer.succeed(Consent, { ...allow, ask: () => Effect.succeed(false) })

/** A policy; without `ask` everything is allowed, without `audit` no record is kept. */
export const layer = (policy: Partial<Policy>): Layer.Layer<never> => Layer.succeed(Consent, { ...allow, ...policy })

/** Runs `effect` if the policy allows the action, and audits the outcome. */
export const guard = <A, E, R>(
  policy: Policy,
  action: Action,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | ConsentDenied, R> =>
  policy === allow
    ? effect
    : Effect.onExit(
        // Only `true` allows: JavaScript may give any value.
        Effect.flatMap(
          effectOf("ask of Consent", () => policy.ask(action)),
          (agreed: unknown): Effect.Effect<A, E | ConsentDenied, R> =>
            agreed === true
              ? effect
              : Effect.fail(new ConsentDenied({ message: `Consent was refused: ${action._tag}` }))
        ),
        // It has been done: a record that fails cannot undo it.
        (exit) =>
          Effect.catchCause(
            effectOf("audit of Consent", () => policy.audit(action, exit)),
            (cause) => Effect.logError(`The audit of ${action._tag} failed: ${textOf(cause)}`)
          )
      )
