/**
 * Decides about every call from a model and every question from a server: allow, ask the user, edit or deny.
 *
 * The layer is middleware for clients, inside `Pins`. Rules are tried in order, then the defaults. If an action could leak private data
 * because untrusted text asked for it, the user is asked even if a rule allows the action (`Taint`).
 */
import { ClientMiddleware, type Middleware } from "@effect-mcp/client/ClientMiddleware"
import { effectOf } from "@effect-mcp/core/internal/calling"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import { ToolAnnotations } from "@effect-mcp/protocol/model/Tool"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { CurrentCaller, type CallerInfo, type HostConversation, within } from "../caller/Caller.ts"
import { continuesCall, Work } from "../caller/Work.ts"
import { Pins } from "../pins/Pins.ts"
import { type Leak, Taint } from "../taint/Taint.ts"
import { AnswerStore, type AnswersUnavailable } from "./AnswerStore.ts"
import { Approver } from "./Approver.ts"
import { ApprovedAction, approvalKey, OpenApprovals, type PolicyApprovals } from "./CallApprovals.ts"
import { type DecisionRecord, PolicyDecisions } from "./Decisions.ts"
import type { ActionKind, HostAction } from "./HostAction.ts"
import * as PolicyRule from "./PolicyRule.ts"

export type { ApprovalQuestion, PolicyApprovals, RequestedCall } from "./CallApprovals.ts"
export type { DecisionRecord } from "./Decisions.ts"

export interface Options {
  /** Rules, tried in order before the defaults. The first rule that decides wins. Default none. */
  readonly rules?: ReadonlyArray<PolicyRule.PolicyFunction | PolicyRule.PolicyRule> | undefined
  /** Names of servers whose hints and texts you trust, with `*` for any text. Default none. */
  readonly trusted?: string | ReadonlyArray<string> | undefined
  /** Names of servers whose results hold no private data, such as a web search. Default none. */
  readonly publicData?: string | ReadonlyArray<string> | undefined
  /** Called with each decision, and again with the action's outcome. If it fails, the failure is logged. Default: records nothing. */
  readonly audit?: ((record: DecisionRecord) => Effect.Effect<void>) | undefined
  /** Name of the server if its client doesn't belong to `McpClients`. Default `server`. */
  readonly name?: string | undefined
}

/** The policy denied an action. Nothing was sent. */
export class ActionDenied extends McpError.McpError {
  readonly action: HostAction
  constructor(action: HostAction, message: string) {
    super({ code: action.caller.source === "server" ? McpError.UserRejected : McpError.Forbidden, message })
    this.action = action
  }
}

/** The policy's view of conversations. */
export class HostPolicy extends Context.Service<
  HostPolicy,
  {
    /** Returns the servers whose private data and untrusted text a conversation has seen. */
    readonly seen: (conversation: HostConversation) => Leak
    /**
     * Asks about a model's calls with the approval requests of `effect/ai`, instead of with `Approver`. Pass it to `RemoteToolkit` as the
     * option `approvals`.
     */
    readonly approvals: PolicyApprovals
  }
>()("@effect-mcp/host/HostPolicy") {}

interface RequestKind {
  readonly kind: ActionKind
  /** Name of the param that identifies the item. */
  readonly nameParam: "name" | "uri"
}

/** Returns the kind of a request that uses an item. Other requests need no decision. */
const kindOfRequest = (method: string): RequestKind | undefined => {
  const { capability, mayAsk, nameParam } = MethodInfo.ofRequest(method) ?? {}
  if (nameParam === undefined || mayAsk !== true) return undefined
  if (capability === "tools") return { kind: "call", nameParam }
  return { kind: capability === "prompts" ? "prompt" : "read", nameParam }
}

const questionKinds: ReadonlyMap<string, ActionKind> = new Map(
  Object.entries<MethodInfo.ServerRequestInfo>(MethodInfo.serverRequests).flatMap(([method, { capability }]) =>
    capability === "roots" || capability === "sampling" || capability === "elicitation"
      ? [[method, capability] as const]
      : []
  )
)

/** The list of the item that each kind of request uses. */
const itemLists: Readonly<Partial<Record<ActionKind, MethodInfo.ListName>>> = {
  call: "tools",
  prompt: "prompts",
  read: "resources"
}

const isAnnotations = Schema.is(ToolAnnotations)

/** Fields of a question's params that belong to the protocol. */
const withoutMeta = (params: unknown): { readonly [name: string]: unknown } => {
  if (!isJsonObject(params)) return {}
  const { _meta, ...rest } = params
  return rest
}

const outcomeOf = (exit: Exit.Exit<unknown, unknown>): DecisionRecord["outcome"] => {
  if (Exit.isSuccess(exit)) return "success"
  return Cause.hasInterruptsOnly(exit.cause) ? "interrupted" : "failure"
}

/** One policy's middleware, and its view of conversations. */
class Guard {
  readonly taint = new Taint()
  private readonly work = new Work()
  /** Decided inputs, by the program's arguments object, because all rounds of a request have the same arguments. */
  private readonly decided = new WeakMap<object, HostAction["input"]>()
  private readonly options: Options
  private readonly pins: Pins["Service"]
  private readonly decisions: PolicyDecisions

  constructor(options: Options, pins: Pins["Service"], decisions: PolicyDecisions) {
    this.options = options
    this.pins = pins
    this.decisions = decisions
  }

  private get ownName(): string {
    return this.options.name ?? "server"
  }

  private isTrusted(server: string): boolean {
    return PolicyRule.matches(this.options.trusted ?? [], server)
  }

  private record(entry: DecisionRecord): Effect.Effect<void> {
    const { audit } = this.options
    return audit === undefined
      ? Effect.void
      : Effect.catchCause(
          effectOf("HostPolicy.audit", () => audit(entry)),
          (cause) => Effect.logError("Failed to record a decision", cause)
        )
  }

  /** Decides, records the decision and its outcome, and runs the action if it is allowed. */
  private guarded<A, E>(
    action: HostAction,
    run: (input: HostAction["input"] | undefined) => Effect.Effect<A, E>
  ): Effect.Effect<A, E | ActionDenied> {
    return Effect.flatMap(
      this.decisions.decide(action),
      ({ input, ...decided }): Effect.Effect<A, E | ActionDenied> => {
        const entry = { action, ...decided }
        if (decided.decision === "deny") {
          const why =
            decided.by === "nobody" ? `${decided.reason ?? ""}, and there is no approver to ask` : decided.reason
          const what = `${action.kind} of ${excerpt(action.name)} at ${excerpt(action.server, 60)}`
          const message = `The policy denies ${what}${why === undefined || why === "" ? "" : `: ${why}`}`
          return Effect.andThen(this.record(entry), Effect.fail(new ActionDenied(action, message)))
        }
        return Effect.andThen(
          this.record(entry),
          Effect.onExit(run(input), (exit) => this.record({ ...entry, outcome: outcomeOf(exit) }))
        )
      }
    )
  }

  private toolOf(server: string, name: string): Pick<HostAction, "annotations" | "pin"> {
    const annotations = this.pins.declaration(server, "tools", name)?.["annotations"]
    return { annotations: isAnnotations(annotations) ? annotations : undefined, pin: this.pins.digest(server, name) }
  }

  private actionOf(server: string, { kind, nameParam }: RequestKind, params: object, caller: CallerInfo): HostAction {
    const named: unknown = Reflect.get(params, nameParam)
    const given: unknown = Reflect.get(params, "arguments")
    const name = typeof named === "string" ? named : ""
    const trusted = this.isTrusted(server)
    const isCall = kind === "call"
    const { annotations, pin } = isCall ? this.toolOf(server, name) : { annotations: undefined, pin: undefined }
    const input = isJsonObject(given) ? given : {}
    const believed = trusted ? annotations : undefined
    const list = itemLists[kind]
    // A request for a listed item without arguments tells the server nothing new.
    const carries =
      list === undefined || this.pins.declaration(server, list, name) === undefined || Object.keys(input).length > 0
    const reachesOut = !trusted || (isCall && believed?.openWorldHint !== false)
    const leak = carries && reachesOut ? this.taint.leakOf(caller.conversation) : undefined
    return { kind, server, trusted, name, input, annotations: believed, pin, caller, leak }
  }

  /** Records the sources of a result. */
  private observe(
    {
      annotations,
      caller,
      kind,
      server,
      trusted
    }: Pick<HostAction, "annotations" | "caller" | "kind" | "server" | "trusted">,
    result: unknown
  ): unknown {
    const isPrivate = !PolicyRule.matches(this.options.publicData ?? [], server)
    const isUntrusted = !trusted || (kind === "call" && annotations?.openWorldHint !== false)
    return this.taint.observe(caller.conversation, { server, isPrivate, isUntrusted }, result)
  }

  readonly request: NonNullable<Middleware["request"]> = ({ method, params, serverName }, next) => {
    const server = serverName ?? this.ownName
    const found = kindOfRequest(method)
    if (continuesCall(method)) return this.continued(server, next())
    if (found === undefined || params === undefined) return next()
    const given: unknown = params["arguments"]
    const send = (input: HostAction["input"] | undefined) =>
      next(input === undefined || found.kind === "read" ? {} : { params: { ...params, arguments: input } })
    return Effect.flatMap(CurrentCaller, (caller) =>
      Effect.suspend(() => {
        const end = this.work.begin(server, caller)
        const action = this.actionOf(server, found, params, caller)
        const isRound = params["requestState"] !== undefined || params["inputResponses"] !== undefined
        const earlier = isRound && isJsonObject(given) ? this.decided.get(given) : undefined
        const sent =
          earlier === undefined
            ? this.guarded(action, (input) => {
                if (isJsonObject(given)) this.decided.set(given, input ?? given)
                return send(input)
              })
            : send(earlier)
        return Effect.ensuring(
          Effect.map(sent, (result) => this.observe(action, result)).pipe(
            // Models also read the server's errors.
            Effect.tapError((error) =>
              Effect.sync(() => (error instanceof ActionDenied ? undefined : this.observe(action, {})))
            )
          ),
          Effect.sync(end)
        )
      })
    )
  }

  /** Follows a call that became a task, because its result and its questions belong to the conversation. */
  private continued<E>(server: string, sent: Effect.Effect<unknown, E>): Effect.Effect<unknown, E> {
    return Effect.flatMap(CurrentCaller, (caller) =>
      Effect.suspend(() => {
        const end = this.work.begin(server, caller)
        const source = {
          annotations: undefined,
          caller,
          kind: "call",
          server,
          trusted: this.isTrusted(server)
        } as const
        return Effect.ensuring(
          Effect.map(sent, (result) => this.observe(source, result)),
          Effect.sync(end)
        )
      })
    )
  }

  private readonly questions = new OpenApprovals()

  readonly approvals: PolicyApprovals = {
    needed: ({ id, input, server, tool }) =>
      Effect.gen({ self: this }, function* () {
        const caller = yield* CurrentCaller
        const params = { name: tool, arguments: input }
        const action = this.actionOf(server ?? this.ownName, { kind: "call", nameParam: "name" }, params, caller)
        const question = yield* this.decisions.question(action)
        if (question !== undefined) this.questions.add(id, question)
        return question !== undefined
      }),
    within: (effect, { id }) =>
      Effect.flatMap(CurrentCaller, ({ conversation }) => {
        const question = this.questions.take(conversation, id)
        return question === undefined
          ? effect
          : Effect.provideService(effect, ApprovedAction, approvalKey(question.action))
      }),
    question: (toolCallId) =>
      Effect.map(CurrentCaller, ({ conversation }) => this.questions.get(conversation, toolCallId))
  }

  readonly question: NonNullable<Middleware["question"]> = ({ method, params, serverName }, _next, proceed) => {
    const server = serverName ?? this.ownName
    const kind = questionKinds.get(method)
    return Effect.flatMap(CurrentCaller, (current) => {
      const callers = this.work.callers(server)
      // If several conversations wait for the server, the question counts for the deepest.
      const asked = callers.toSorted((a, b) => b.depth - a.depth)[0] ?? current
      const caller: CallerInfo = { ...asked, source: "server", depth: asked.depth + 1 }
      const answer = (input: HostAction["input"] | undefined) =>
        within(proceed(input === undefined ? (params ?? {}) : { ...params, ...input }), caller)
      if (kind === undefined) return answer(undefined)
      const trusted = this.isTrusted(server)
      const leak =
        trusted || kind !== "sampling"
          ? undefined
          : callers.map(({ conversation }) => this.taint.leakOf(conversation)).find((leak) => leak !== undefined)
      const input = withoutMeta(params)
      const none = { annotations: undefined, pin: undefined }
      const action: HostAction = { kind, server, trusted, name: kind, input, caller, leak, ...none }
      return this.guarded(action, (input) =>
        Effect.flatMap(answer(input), (answered) => this.reviewed(action, answered))
      )
    })
  }

  /** Lets the user see and edit the answer to a question. */
  private reviewed(action: HostAction, answered: unknown): Effect.Effect<unknown, ActionDenied> {
    return Effect.flatMap(this.decisions.review(action, answered), (reviewed) =>
      reviewed === undefined
        ? Effect.fail(new ActionDenied(action, `The user declined to send the answer to ${action.kind}`))
        : Effect.succeed(reviewed)
    )
  }
}

const make = Effect.fnUntraced(function* (options: Options) {
  const pins = yield* Pins
  const store = yield* AnswerStore
  const rules = yield* Effect.forEach([...(options.rules ?? []), ...PolicyRule.defaults], (rule) =>
    Effect.fromResult(PolicyRule.compile(rule))
  )
  const approver = Option.getOrUndefined(yield* Effect.serviceOption(Approver))
  const guard = new Guard(options, pins, new PolicyDecisions(rules, approver, store, yield* store.read))
  const outer = Option.getOrElse(yield* Effect.serviceOption(ClientMiddleware), () => [])
  const { question, request } = guard
  return Context.make(HostPolicy, {
    seen: (conversation) => guard.taint.seen(conversation),
    approvals: guard.approvals
  }).pipe(Context.add(ClientMiddleware, [...outer, { request, question }]))
})

/**
 * Guards the clients that this layer is provided to. Fails if a rule can't be used, or the remembered answers can't be read.
 *
 * Without an `Approver` in the context, every action that needs an answer is denied.
 *
 * @example
 * ```ts
 * import * as McpClients from "@effect-mcp/client/McpClients"
 * import { AnswerStore, Approver, HostPolicy, Pins } from "@effect-mcp/host"
 * import { NodeServices } from "@effect/platform-node"
 * import { Console, Effect, Layer } from "effect"
 *
 * const policy = HostPolicy.layer({
 *   trusted: "notes",
 *   rules: [
 *     { decide: "deny", server: "notes", name: "delete_*" },
 *     { decide: "allow", server: "weather" }
 *   ]
 * })
 *
 * // Shows the question, and refuses.
 * const approver = Layer.succeed(Approver.Approver, {
 *   ask: ({ name, server }, reason) => Effect.as(Console.log(`${server} ${name}? ${reason}`), { _tag: "Deny" as const })
 * })
 *
 * export const servers = McpClients.layerFile(".mcp.json").pipe(
 *   Layer.provide(policy),
 *   Layer.provide(Pins.layerFile("mcp.lock.json")),
 *   Layer.provide([approver, AnswerStore.layerMemory]),
 *   Layer.provide(NodeServices.layer)
 * )
 * ```
 */
export const layer = (
  options: Options = {}
): Layer.Layer<ClientMiddleware | HostPolicy, AnswersUnavailable | PolicyRule.InvalidRule, AnswerStore | Pins> =>
  Layer.effectContext(make(options))
