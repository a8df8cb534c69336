/**
 * Limits the spending of a conversation on MCP servers: calls, time, bytes, tokens, questions, and nested questions.
 *
 * The layer is middleware for clients. Calls and questions are counted before they run, so they never exceed their limit. Time, bytes and
 * tokens are known afterwards, so they exceed it by at most the requests that were running.
 */
import { ClientMiddleware, type Middleware } from "@effect-mcp/client/ClientMiddleware"
import { effectOf } from "@effect-mcp/core/internal/calling"
import type { RequestError } from "@effect-mcp/core/Peer"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { CurrentCaller, type CallerInfo, type HostConversation, within } from "../caller/Caller.ts"
import { continuesCall, Work } from "../caller/Work.ts"

/** The limits in one budget. An omitted limit is infinite. */
export interface BudgetLimits {
  /** Number of calls, reads and prompts. Retries and further rounds of a request also count. */
  readonly calls?: number | undefined
  /** Total running time of requests, in seconds. When it is used up, running requests are interrupted. */
  readonly seconds?: number | undefined
  /** Bytes of arguments and results, as JSON in UTF-8. */
  readonly bytes?: number | undefined
  /** Tokens of arguments and results. */
  readonly tokens?: number | undefined
  /** Number of questions from servers: sampling, elicitation and roots. */
  readonly questions?: number | undefined
}

/** Kinds of spending that have limits. `depth` is the nesting of questions. */
export type Spending = keyof BudgetLimits | "depth"

/** The budget that a limit belongs to. */
export type BudgetScope = "conversation" | "server" | "tool"

export interface Options {
  /** Limits for a whole conversation. Default none. */
  readonly conversation?: BudgetLimits | undefined
  /** Limits for each server in a conversation. Default none. */
  readonly server?: BudgetLimits | undefined
  /** Limits for each tool, prompt and resource in a conversation. Default none. */
  readonly tool?: BudgetLimits | undefined
  /**
   * How deep questions may nest. 1 allows a server's question, but no question from a server that is called to answer it. Default 2.
   */
  readonly depth?: number | undefined
  /** Counts the tokens in a text. Only called if tokens are limited. Default: a quarter of the number of characters. */
  readonly tokens?: ((text: string) => Effect.Effect<number>) | undefined
  /** Name of the server if its client doesn't belong to `McpClients`. Default `server`. */
  readonly name?: string | undefined
}

/** A budget is used up. Nothing was sent, unless `spending` is `seconds` and the request was already running. */
export class BudgetExceeded extends McpError.McpError {
  readonly scope: BudgetScope
  readonly spending: Spending
  readonly limit: number
  readonly used: number
  constructor(scope: BudgetScope, spending: Spending, limit: number, used: number, name: string) {
    const message = `The ${scope}${name === "" ? "" : ` ${excerpt(name, 80)}`} has used up its budget of ${limit} ${spending}`
    super({ code: McpError.LimitExceeded, message, data: { budget: { scope, spending, limit, used } } })
    this.scope = scope
    this.spending = spending
    this.limit = limit
    this.used = used
  }
}

/** Amounts that were spent or are left. */
export type Amounts = { readonly [S in keyof BudgetLimits]-?: number }

/** Conversations' budgets. */
export class Budgets extends Context.Service<
  Budgets,
  {
    /** Returns the amounts that a conversation has spent, in total or on one server. */
    readonly spent: (conversation: HostConversation, server?: string) => Amounts
    /** Returns the amounts that a conversation has left, in total or on one server. Never negative, and infinite without a limit. */
    readonly left: (conversation: HostConversation, server?: string) => Amounts
  }
>()("@effect-mcp/host/Budgets") {}

/** Amounts that are only known after the request. */
const later = ["seconds", "bytes", "tokens"] as const

/** The use of one budget. */
class Account {
  readonly spent = { calls: 0, seconds: 0, bytes: 0, tokens: 0, questions: 0 }
  readonly scope: BudgetScope
  readonly name: string
  readonly limits: BudgetLimits

  constructor(scope: BudgetScope, name: string, limits: BudgetLimits) {
    this.scope = scope
    this.name = name
    this.limits = limits
  }

  /** Returns the failure if nothing more may be spent. */
  exceeded(wanted: ReadonlyArray<keyof BudgetLimits>): BudgetExceeded | undefined {
    for (const spending of wanted) {
      const limit = this.limits[spending]
      const used = this.spent[spending]
      // Written this way, because NaN must count as exceeded.
      if (limit !== undefined && !(used < limit)) return this.failure(spending, limit)
    }
    return undefined
  }

  failure(spending: keyof BudgetLimits, limit: number): BudgetExceeded {
    return new BudgetExceeded(this.scope, spending, limit, this.spent[spending], this.name)
  }

  get left(): Amounts {
    const left = (spending: keyof BudgetLimits) =>
      Math.max(0, (this.limits[spending] ?? Number.POSITIVE_INFINITY) - this.spent[spending])
    return {
      calls: left("calls"),
      seconds: left("seconds"),
      bytes: left("bytes"),
      tokens: left("tokens"),
      questions: left("questions")
    }
  }
}

const encoder = new TextEncoder()

const textOf = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? ""
  } catch {
    return ""
  }
}

/** Names a request's item, or returns `undefined` for requests that spend nothing, such as lists and pings. */
const itemOf = (method: string, params: object | undefined): string | undefined => {
  const { mayAsk, nameParam } = MethodInfo.ofRequest(method) ?? {}
  if (nameParam === undefined || mayAsk !== true || params === undefined) return undefined
  const item: unknown = Reflect.get(params, nameParam)
  return typeof item === "string" ? item : ""
}

const isQuestion = (method: string): boolean => method !== "ping" && Object.hasOwn(MethodInfo.serverRequests, method)

/** Maximum number of tool accounts per conversation. Further tools share one. */
const maxAccounts = 4096

/** One conversation's accounts. */
class Accounts {
  private readonly accounts = new Map<string, Account>()
  private readonly options: Options
  readonly whole: Account

  constructor(options: Options, conversation: HostConversation) {
    this.options = options
    this.whole = new Account("conversation", conversation.name, options.conversation ?? {})
  }

  private account(scope: "server" | "tool", key: string, name: string): Account {
    const found = this.accounts.get(key)
    if (found !== undefined) return found
    if (this.accounts.size >= maxAccounts && key !== "") return this.account(scope, "", "others")
    const made = new Account(scope, name, this.options[scope] ?? {})
    this.accounts.set(key, made)
    return made
  }

  server(server: string): Account {
    return this.account("server", JSON.stringify([server]), server)
  }

  /** Returns the budgets that a request spends from. */
  of(server: string, item: string): ReadonlyArray<Account> {
    return [this.whole, this.server(server), this.account("tool", JSON.stringify([server, item]), item)]
  }
}

const seconds = (millis: number): number => millis / 1000

/** Runs a request for at most as long as its budgets allow, and counts its time. */
const timed = (accounts: ReadonlyArray<Account>, run: Effect.Effect<unknown, RequestError>) =>
  Effect.flatMap(Clock.currentTimeMillis, (began) => {
    const tightest = accounts.toSorted((a, b) => a.left.seconds - b.left.seconds)[0]
    const limit = tightest?.limits.seconds
    const counted = Effect.onExit(run, () =>
      Effect.map(Clock.currentTimeMillis, (ended) => {
        for (const { spent } of accounts) spent.seconds += seconds(ended - began)
      })
    )
    return tightest === undefined || limit === undefined
      ? counted
      : Effect.timeoutOrElse(counted, {
          duration: tightest.left.seconds * 1000,
          orElse: () => Effect.fail(tightest.failure("seconds", limit))
        })
  })

/** Returns the function that counts the size of a value. */
const sizes = ({ conversation, server, tokens: count = estimate, tool }: Options) => {
  const countsTokens = [conversation, server, tool].some((limits) => limits?.tokens !== undefined)
  /** Counts tokens. If the program's counter fails or doesn't return a number, every character counts as a token. */
  const tokens = (text: string): Effect.Effect<number> =>
    Effect.map(
      Effect.catchCause(
        effectOf("Budgets.tokens", () => count(text)),
        (cause) => Effect.as(Effect.logError("Cannot count tokens", cause), text.length)
      ),
      (count) => (typeof count === "number" && count >= 0 ? count : text.length)
    )
  return (accounts: ReadonlyArray<Account>, value: unknown): Effect.Effect<void> =>
    Effect.suspend(() => {
      const text = textOf(value)
      const bytes = encoder.encode(text).length
      for (const { spent } of accounts) spent.bytes += bytes
      if (!countsTokens) return Effect.void
      return Effect.map(tokens(text), (count) => {
        for (const { spent } of accounts) spent.tokens += count
      })
    })
}

const estimate = (text: string): Effect.Effect<number> => Effect.succeed(Math.ceil(text.length / 4))

const make = Effect.fnUntraced(function* (options: Options) {
  const { depth: maxDepth = 2, name: ownName = "server" } = options
  const spend = sizes(options)
  const accountsOf = memoize((conversation: HostConversation) => new Accounts(options, conversation))
  const work = new Work()

  const request: NonNullable<Middleware["request"]> = ({ method, params, serverName = ownName }, next) => {
    const item = itemOf(method, params)
    const isNew = item !== undefined
    if (!isNew && !continuesCall(method)) return next()
    return Effect.flatMap(CurrentCaller, (caller) =>
      Effect.suspend((): Effect.Effect<unknown, RequestError> => {
        const all = accountsOf(caller.conversation)
        // A task doesn't say which tool it belongs to.
        const accounts = isNew ? all.of(serverName, item) : [all.whole, all.server(serverName)]
        for (const account of accounts) {
          const exceeded = account.exceeded(isNew ? ["calls", ...later] : later)
          if (exceeded !== undefined) return Effect.fail(exceeded)
        }
        if (isNew) for (const { spent } of accounts) spent.calls++
        const end = work.begin(serverName, caller)
        return spend(accounts, params).pipe(
          Effect.andThen(timed(accounts, next())),
          Effect.tap((result) => spend(accounts, result)),
          Effect.ensuring(Effect.sync(end))
        )
      })
    )
  }

  const question: NonNullable<Middleware["question"]> = ({ method, serverName = ownName }, next) =>
    Effect.flatMap(CurrentCaller, (current) =>
      Effect.suspend(() => {
        if (!isQuestion(method)) return next
        const waiting = work.callers(serverName)
        const callers: ReadonlyArray<CallerInfo> = waiting.length === 0 ? [current] : waiting
        const deepest = callers.reduce((a, b) => (b.depth > a.depth ? b : a))
        // The question may belong to any of them, so all of them pay.
        const accounts = callers.flatMap(({ conversation }) => {
          const all = accountsOf(conversation)
          return [all.whole, all.server(serverName)]
        })
        if (deepest.depth >= maxDepth)
          return Effect.fail(
            new BudgetExceeded("conversation", "depth", maxDepth, deepest.depth, deepest.conversation.name)
          )
        for (const account of accounts) {
          const exceeded = account.exceeded(["questions"])
          if (exceeded !== undefined) return Effect.fail(exceeded)
        }
        for (const { spent } of accounts) spent.questions++
        return within(next, { ...deepest, source: "server", depth: deepest.depth + 1 })
      })
    )

  const accountOf = (conversation: HostConversation, server: string | undefined): Account => {
    const accounts = accountsOf(conversation)
    return server === undefined ? accounts.whole : accounts.server(server)
  }
  const budgets = Budgets.of({
    spent: (conversation, server) => ({ ...accountOf(conversation, server).spent }),
    left: (conversation, server) => accountOf(conversation, server).left
  })
  const outer = Option.getOrElse(yield* Effect.serviceOption(ClientMiddleware), () => [])
  return Context.make(Budgets, budgets).pipe(Context.add(ClientMiddleware, [...outer, { request, question }]))
})

/**
 * Limits the clients that this layer is provided to. A request beyond a limit fails with `BudgetExceeded`, which names the budget and its
 * use.
 *
 * @example
 * ```ts
 * import * as McpClients from "@effect-mcp/client/McpClients"
 * import { Budgets } from "@effect-mcp/host"
 * import { NodeServices } from "@effect/platform-node"
 * import { Layer } from "effect"
 *
 * const budgets = Budgets.layer({
 *   conversation: { calls: 100, seconds: 600, tokens: 200_000, questions: 10 },
 *   tool: { calls: 20 }
 * })
 *
 * export const servers = McpClients.layerFile(".mcp.json").pipe(
 *   Layer.provideMerge(budgets),
 *   Layer.provide(NodeServices.layer)
 * )
 * ```
 */
export const layer = (options: Options = {}): Layer.Layer<Budgets | ClientMiddleware> =>
  Layer.effectContext(make(options))
