/** Asks the user about an action that the policy doesn't decide. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { HostAction } from "./HostAction.ts"

/** How long an answer is remembered. `always` lasts until the tool's declaration changes. */
export type AnswerScope = "once" | "conversation" | "always"

/** The user's answer. */
export type ApproverAnswer =
  | {
      readonly _tag: "Allow"
      /** Default `once`. */
      readonly remember?: AnswerScope | undefined
      /** Replaces the input. An edited answer is never remembered. */
      readonly input?: { readonly [name: string]: unknown } | undefined
    }
  | { readonly _tag: "Deny"; readonly remember?: AnswerScope | undefined }

/** Asks the user. Without it, every action that needs an answer is denied. */
export class Approver extends Context.Service<
  Approver,
  {
    /**
     * Called for one action at a time. Show the user the server, the name and the input. Escape them first, because they may come from a
     * server, or from a model that follows a server's instructions.
     */
    readonly ask: (action: HostAction, reason: string) => Effect.Effect<ApproverAnswer>
    /**
     * Called with the answer to a server's question before it is sent. Returns the answer to send, or `undefined` to send none. Default: the
     * answer is sent unchanged.
     */
    readonly review?: (
      action: HostAction,
      answer: { readonly [name: string]: unknown }
    ) => Effect.Effect<{ readonly [name: string]: unknown } | undefined>
  }
>()("@effect-mcp/host/Approver") {}
