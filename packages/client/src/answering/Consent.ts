/**
 * Who decides what may leave the client: a tool call, a request to the user's model, the list of roots.
 *
 * Asked before anything is sent, and told of the outcome afterwards, so that one service can both confirm and audit. Read when the
 * client is built: what is provided around a single call does not change it.
 */
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { CreateMessageParams } from "@effect-mcp/protocol/model/Sampling"
import type { ToolAnnotations } from "@effect-mcp/protocol/model/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { ConsentDenied } from "../ClientError.ts"

/** What is about to leave, and to whom. */
export type Action =
  | {
      readonly _tag: "CallTool"
      readonly server: Implementation
      readonly tool: string
      readonly arguments: { readonly [name: string]: unknown }
      /** What the server says of the tool, if it was listed; untrusted. */
      readonly annotations: ToolAnnotations | undefined
    }
  | { readonly _tag: "CreateMessage"; readonly server: Implementation; readonly params: CreateMessageParams }
  | { readonly _tag: "ListRoots"; readonly server: Implementation }

export interface Policy {
  /** `false` refuses: a call fails with `ConsentDenied`, a question of the server's gets an error. */
  readonly ask: (action: Action) => Effect.Effect<boolean>
  /** Told how it ended; a refusal is a failure with `ConsentDenied`. */
  readonly audit: (action: Action, outcome: Exit.Exit<unknown, unknown>) => Effect.Effect<void>
}

/** Allows everything and keeps no record. */
export const allow: Policy = { ask: () => Effect.succeed(true), audit: () => Effect.void }

/** Allows everything unless a layer says otherwise. */
export const Consent = Context.Reference<Policy>("@effect-mcp/client/Consent", { defaultValue: () => allow })

export const layerAllow: Layer.Layer<never> = Layer.succeed(Consent, allow)

/** Refuses everything: for clients that only read. */
export const layerDeny: Layer.Layer<never> = Layer.succeed(Consent, { ...allow, ask: () => Effect.succeed(false) })

/** A policy of one's own; without `audit` no record is kept. */
export const layer = (policy: Partial<Policy>): Layer.Layer<never> => Layer.succeed(Consent, { ...allow, ...policy })

/** Runs `effect` if the policy agrees, and has the outcome audited. */
export const guard = <A, E, R>(
  policy: Policy,
  action: Action,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | ConsentDenied, R> =>
  policy === allow
    ? effect
    : Effect.onExit(
        Effect.flatMap(policy.ask(action), (agreed): Effect.Effect<A, E | ConsentDenied, R> =>
          agreed ? effect : Effect.fail(new ConsentDenied({ message: `Consent was refused: ${action._tag}` }))
        ),
        (exit) => policy.audit(action, exit)
      )
