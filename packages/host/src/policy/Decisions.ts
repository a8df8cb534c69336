/**
 * Decides by rules, by remembered answers, or by asking the user. Questions to the user are asked one at a time, and concurrent actions share
 * a remembered answer.
 */
import { effectOf } from "@effect-mcp/core/internal/calling"
import { canonicalJson, digest } from "@effect-mcp/core/internal/digest"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import * as Semaphore from "effect/Semaphore"
import type { HostConversation } from "../caller/Caller.ts"
import type { Leak } from "../taint/Taint.ts"
import type { AnswerStore } from "./AnswerStore.ts"
import type { Approver, ApproverAnswer } from "./Approver.ts"
import { ApprovedAction, approvalKey, type ApprovalQuestion } from "./CallApprovals.ts"
import type { HostAction, PolicyDecision } from "./HostAction.ts"
import type * as PolicyRule from "./PolicyRule.ts"

/** An entry of the audit trail. */
export interface DecisionRecord {
  readonly action: HostAction
  readonly decision: "allow" | "edit" | "deny"
  /** The origin of the decision: a rule or default, an earlier answer, the user, or the fact that nobody could be asked. */
  readonly by: "rule" | "memory" | "user" | "nobody"
  readonly reason: string | undefined
  /** Absent when the decision is made. Afterwards, whether the action succeeded. */
  readonly outcome?: "success" | "failure" | "interrupted" | undefined
}

/** Maximum number of names in a question to the user. */
const maxShown = 8

/** Formats server names, the program's own first. */
const namesOf = (names: ReadonlyArray<string>): string => {
  const sorted = names.toSorted((a, b) => Number(a.includes("/")) - Number(b.includes("/")))
  const shown = sorted.slice(0, maxShown).map((name) => excerpt(name, 60))
  return names.length > maxShown ? `${shown.join(", ")} and ${names.length - maxShown} more` : shown.join(", ")
}

const leakReason = ({ data, untrusted }: Leak): string =>
  `It could leak data from ${namesOf(data)}, because text from ${namesOf(untrusted)} may have asked for it`

/** A decision and its origin. */
export interface Decided extends Omit<DecisionRecord, "action" | "outcome"> {
  /** Replaces the input, if it was edited. */
  readonly input?: { readonly [name: string]: unknown } | undefined
}

/** A question to the user. `edit` is the input that a rule has set. */
interface Question extends ApprovalQuestion {
  readonly edit: HostAction["input"] | undefined
}

/** Identifies equal actions for remembered answers. A changed declaration or other leaked servers make it a different action. */
const keyOf = ({ caller, kind, leak, name, pin, server, trusted }: HostAction): string =>
  digest(
    canonicalJson([kind, server, name, pin ?? null, caller.source, caller.principal ?? null, trusted, leak ?? null])
  )

/** Maximum number of answers to remember per scope. */
const maxAnswers = 4096

/** Decides about actions. Questions to the user are asked one at a time. */
export class PolicyDecisions {
  private readonly always: Map<string, boolean>
  private readonly answersOf = memoize<HostConversation, Map<string, boolean>>(() => new Map())
  private readonly asking = Semaphore.makeUnsafe(1)
  private readonly rules: ReadonlyArray<PolicyRule.PolicyFunction>
  private readonly approver: Approver["Service"] | undefined
  private readonly store: AnswerStore["Service"]

  constructor(
    rules: ReadonlyArray<PolicyRule.PolicyFunction>,
    approver: Approver["Service"] | undefined,
    store: AnswerStore["Service"],
    always: ReadonlyMap<string, boolean>
  ) {
    this.rules = rules
    this.approver = approver
    this.store = store
    this.always = new Map(always)
  }

  private remembered(action: HostAction): boolean | undefined {
    const key = keyOf(action)
    const answered = this.answersOf(action.caller.conversation).get(key)
    // Without a pin, nobody knows whether the tool is still the same.
    return answered ?? (action.kind !== "call" || action.pin !== undefined ? this.always.get(key) : undefined)
  }

  private remember(action: HostAction, { _tag, remember = "once" }: ApproverAnswer): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (remember === "once") return Effect.void
      const answers = remember === "always" ? this.always : this.answersOf(action.caller.conversation)
      if (answers.size >= maxAnswers) answers.clear()
      answers.set(keyOf(action), _tag === "Allow")
      return remember === "always"
        ? Effect.catch(this.store.write(new Map(this.always)), ({ message }) => Effect.logError(message))
        : Effect.void
    })
  }

  private ask(action: HostAction, reason: string): Effect.Effect<Decided> {
    const { approver } = this
    const asked = Effect.flatMap(ApprovedAction, (approved): Effect.Effect<Decided> => {
      if (approved !== undefined && approved === approvalKey(action))
        return Effect.succeed({ decision: "allow", by: "user", reason })
      // Another request may have received the same answer in the meantime.
      const known = this.remembered(action)
      if (known !== undefined) return Effect.succeed({ decision: known ? "allow" : "deny", by: "memory", reason })
      if (approver === undefined) return Effect.succeed({ decision: "deny", by: "nobody", reason })
      return effectOf("Approver.ask", () => approver.ask(action, reason)).pipe(
        Effect.catchCause((cause) =>
          Effect.as(Effect.logError("Failed to ask the user about an action", cause), {
            _tag: "Deny"
          } as ApproverAnswer)
        ),
        Effect.flatMap((answer): Effect.Effect<Decided> => {
          // A JavaScript program may return any value.
          if (answer?._tag !== "Allow")
            return Effect.as(this.remember(action, { _tag: "Deny", remember: answer?.remember }), {
              decision: "deny",
              by: "user",
              reason
            })
          const { input } = answer
          if (input !== undefined) return Effect.succeed({ decision: "edit", by: "user", reason, input })
          return Effect.as(this.remember(action, answer), { decision: "allow", by: "user", reason })
        })
      )
    })
    return this.asking.withPermit(asked)
  }

  /** Decides by the first rule that applies, or returns the question to the user. */
  private judge(action: HostAction): Effect.Effect<Decided | Question> {
    return Effect.gen({ self: this }, function* () {
      const { leak } = action
      let decision: PolicyDecision = { _tag: "Ask" }
      for (const rule of this.rules) {
        const found = yield* rule(action)
        if (found === undefined) continue
        decision = found
        break
      }
      switch (decision._tag) {
        case "Deny":
          return { decision: "deny", by: "rule", reason: decision.reason }
        case "Allow":
          if (leak === undefined) return { decision: "allow", by: "rule", reason: undefined }
          return { action, reason: leakReason(leak), edit: undefined }
        case "Edit": {
          const { input } = decision
          if (leak === undefined) return { decision: "edit", by: "rule", reason: undefined, input }
          return { action: { ...action, input }, reason: leakReason(leak), edit: input }
        }
        default: {
          const reasons = [decision.reason ?? [], leak === undefined ? [] : leakReason(leak)].flat()
          return { action, reason: reasons.join(". ") || "No rule allows it", edit: undefined }
        }
      }
    })
  }

  /** Decides by rules, by a remembered answer, or by asking the user. */
  readonly decide = (action: HostAction): Effect.Effect<Decided> =>
    Effect.flatMap(this.judge(action), (judged) => {
      if ("decision" in judged) return Effect.succeed(judged)
      const { action, edit, reason } = judged
      return Effect.map(this.ask(action, reason), (decided): Decided =>
        edit !== undefined && decided.decision === "allow" ? { ...decided, decision: "edit", input: edit } : decided
      )
    })

  /** Returns the question that `decide` would ask the user, or `undefined` if it would ask nothing. */
  readonly question = (action: HostAction): Effect.Effect<ApprovalQuestion | undefined> =>
    Effect.map(this.judge(action), (judged) =>
      "decision" in judged || this.remembered(judged.action) !== undefined ? undefined : judged
    )

  /** Lets the user see and edit the answer to a server's question. */
  readonly review = (action: HostAction, answer: unknown): Effect.Effect<unknown> => {
    const review = this.approver?.review
    if (review === undefined || !isJsonObject(answer)) return Effect.succeed(answer)
    return Effect.catchCause(
      Effect.map(
        effectOf("Approver.review", () => review(action, answer)),
        (reviewed) => (isJsonObject(reviewed) ? reviewed : undefined)
      ),
      (cause) => Effect.as(Effect.logError("Failed to show an answer to the user", cause), undefined)
    )
  }
}
