/**
 * Approval requests of `effect/ai` for calls that the policy asks about: the model's response contains the question, and the user's answer
 * arrives with the next prompt. The answer counts for exactly the call that the question was about.
 */
import { canonicalJson, digest } from "@effect-mcp/core/internal/digest"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import type { HostConversation } from "../caller/Caller.ts"
import type { HostAction } from "./HostAction.ts"

/** A tool call in a model's response. */
export interface RequestedCall {
  /** ID of the call in the model's response. */
  readonly id: string
  /** The server's name in the program's table, or `undefined` if its client doesn't belong to `McpClients`. */
  readonly server: string | undefined
  readonly tool: string
  readonly input: { readonly [name: string]: unknown }
}

/** A call that waits for the user's approval. */
export interface ApprovalQuestion {
  readonly action: HostAction
  readonly reason: string
}

/** Turns the policy's questions about a model's calls into approval requests. Pass it to `RemoteToolkit` as the option `approvals`. */
export interface PolicyApprovals {
  /** Returns true if the policy asks about the call. Remembers the question for `question` and `within`. */
  readonly needed: (call: RequestedCall) => Effect.Effect<boolean>
  /** Runs the call's handler. If there was a question about this call, the user has approved it, because otherwise no handler runs. */
  readonly within: <A, E, R>(effect: Effect.Effect<A, E, R>, call: RequestedCall) => Effect.Effect<A, E, R>
  /** Returns the open question about a call of the current conversation, to show it to the user. */
  readonly question: (toolCallId: string) => Effect.Effect<ApprovalQuestion | undefined>
}

/** The action that the user has approved for the running handler, or `undefined` if there is none. */
export const ApprovedAction = Context.Reference<string | undefined>("@effect-mcp/host/ApprovedAction", {
  defaultValue: () => undefined
})

/** Identifies an action with its input. Results that arrived after the question don't matter, because the input is older. */
export const approvalKey = ({ caller, input, kind, name, pin, server, trusted }: HostAction): string =>
  digest(
    canonicalJson([
      kind,
      server,
      name,
      pin ?? null,
      trusted,
      caller.source,
      caller.principal ?? null,
      caller.depth,
      input
    ])
  )

/** Maximum number of open questions per conversation. */
const maxOpen = 256

/** Open questions, by conversation and the ID of the call. */
export class OpenApprovals {
  private readonly open = memoize<HostConversation, Map<string, ApprovalQuestion>>(() => new Map())

  /** Adds a question. If there are too many, the oldest is forgotten, and an answer to it counts for nothing. */
  add(id: string, question: ApprovalQuestion): void {
    const questions = this.open(question.action.caller.conversation)
    questions.delete(id)
    const [oldest] = questions.keys()
    if (oldest !== undefined && questions.size >= maxOpen) questions.delete(oldest)
    questions.set(id, question)
  }

  get(conversation: HostConversation, id: string): ApprovalQuestion | undefined {
    return this.open(conversation).get(id)
  }

  /** Returns a question and removes it, so that an answer counts once. */
  take(conversation: HostConversation, id: string): ApprovalQuestion | undefined {
    const found = this.get(conversation, id)
    this.open(conversation).delete(id)
    return found
  }
}
