/** Small faults in limits, middleware, sessions and the handshake, each with the test that notices it. */
import type { Fault } from "@effect-mcp/spec/Fault"

const limits = "packages/server/src/Limits.ts"
const limitsTest = "packages/server/test/dispatch/limits.test.ts"
const middleware = "packages/server/src/features/Middleware.ts"
const middlewareTest = "packages/server/test/features/middleware.test.ts"
const rateLimit = "packages/server/src/features/RateLimit.ts"
const rateLimitTest = "packages/server/test/features/rate-limit.test.ts"
const toolLimits = "packages/server/src/features/ToolLimits.ts"
const toolLimitsTest = "packages/server/test/features/tool-limits.test.ts"
const sessions = "packages/server/src/http/session/SessionTable.ts"
const sessionsTest = "packages/server/test/http/session/SessionTable.test.ts"

export const coreFaults: ReadonlyArray<Fault> = [
  {
    name: "what a session keeps is not given back when it is over",
    file: limits,
    from: "    this.give(holder, holder.kept)\n",
    to: "",
    test: limitsTest
  },
  {
    name: "all anonymous sessions share the budget of one caller",
    file: "packages/core/src/transport/Principal.ts",
    from: "if (subject !== undefined) return JSON",
    to: "return JSON",
    test: limitsTest
  },
  {
    name: "an unsubscribed URI counts for ever",
    file: "packages/server/src/dispatch/Subscriptions.ts",
    from: "    limits.unsubscribe(session, uri)\n",
    to: "",
    test: limitsTest
  },
  {
    name: "an ended subscription request counts for ever",
    file: "packages/server/src/dispatch/SubscriptionsListen.ts",
    from: "Effect.sync(() => limits.unlisten(holder, kept))",
    to: "Effect.void",
    test: limitsTest
  },
  {
    name: "a round that asks is a cancellation to middleware",
    file: middleware,
    from: 'if (isSuspension(cause)) return { _tag: "Asked" }',
    to: "",
    test: middlewareTest
  },
  {
    name: "middleware swaps the method of a request",
    file: middleware,
    from: "changed.method === request.method",
    to: "changed.method !== undefined",
    test: middlewareTest
  },
  {
    name: "every round of a request counts for the rate limit",
    file: rateLimit,
    from: "resumed ? rule.index + 1 : rule.index",
    to: "rule.index",
    test: rateLimitTest
  },
  {
    name: "there is no rate limit unless one is asked for",
    file: "packages/server/src/dispatch/Server.ts",
    from: "options.rateLimit ?? RateLimit.defaults",
    to: "options.rateLimit ?? false",
    test: rateLimitTest,
    ids: ["tools.security.rate-limited", "completion.security.rate-limited"]
  },
  {
    name: "callers of different addresses share a budget",
    file: rateLimit,
    from: "Principal.callerKey(principal, address)",
    to: "Principal.callerKey(principal)",
    test: rateLimitTest
  },
  {
    name: "a call that is late is never stopped",
    file: toolLimits,
    from: "      call.fiber?.interruptUnsafe()\n",
    to: "",
    test: toolLimitsTest
  },
  {
    name: "the size of structured content is not counted",
    file: toolLimits,
    from: "structuredContent === undefined || mirrored",
    to: "true",
    test: toolLimitsTest
  },
  {
    name: "callers without an address share one limit of sessions",
    file: sessions,
    from: 'if (caller === "") return undefined\n',
    to: "",
    test: sessionsTest
  },
  {
    name: "the end of the endpoint interrupts the end of a session",
    file: sessions,
    from: "Effect.uninterruptible(session.close(reason))",
    to: "session.close(reason)",
    test: sessionsTest
  },
  {
    name: "a server speaks its newest revision after any handshake",
    file: "packages/server/src/dispatch/Initialize.ts",
    from: "{ revision, clientInfo: kept, clientCapabilities: capabilities }",
    to: '{ revision: identity.revisions.findLast(({ era }) => era === "stateful") ?? revision, clientInfo: kept, clientCapabilities: capabilities }',
    test: "packages/server/test/dispatch/initialize.test.ts",
    ids: ["lifecycle.operation.version-respected"]
  },
  {
    name: "changes are told of before the subscription is acknowledged",
    file: "packages/server/src/session/ChangeNotifier.ts",
    from: "private opened = false",
    to: "private opened = true",
    test: "packages/server/test/dispatch/stateless/subscriptions.test.ts",
    ids: ["subscriptions.acknowledged.nothing-before", "subscriptions.acknowledged.first"]
  },
  {
    name: "a round ends before a sibling asks that another fiber wakes",
    file: "packages/server/src/mrtr/Questions.ts",
    from: "const quietTurns = 8",
    to: "const quietTurns = 1",
    test: "packages/server/test/mrtr/Replay.test.ts"
  },
  {
    name: "a list with those of mounted sources is cached for all callers",
    file: "packages/server/src/features/Registry.ts",
    from: "sources.length > 0 || entries.some",
    to: "entries.some",
    test: "packages/server/test/dispatch/stateless/features.test.ts"
  },
  {
    name: "a list with the members of templates is cached for all callers",
    file: "packages/server/src/features/ResourceRegistry.ts",
    from: '(list === "resources" && templates',
    to: '(list === "templates" && templates',
    test: "packages/server/test/dispatch/stateless/features.test.ts"
  },
  {
    name: "the lists of mounted sources are read for each new principal object of one caller",
    file: "packages/server/src/features/SourceOwners.ts",
    from: "return key === undefined ? principal : ",
    to: "return key !== undefined ? principal : ",
    test: "packages/server/test/features/source-owners.test.ts"
  },
  {
    name: "a second question of one name vanishes",
    file: "packages/server/src/mrtr/Questions.ts",
    from: "if (MethodInfo.serverRequests[method].sameForAll === true) return suspend",
    to: "return suspend",
    test: "packages/server/test/mrtr/Replay.test.ts",
    ids: ["mrtr.questions.unique-keys"]
  },
  {
    name: "the log does not say which handler died",
    file: "packages/server/src/dispatch/observed.ts",
    from: "`The handler of ${method}${named} died`",
    to: '"A handler died"',
    test: "packages/server/test/dispatch/defects.test.ts"
  },
  {
    name: "a refused host is not reported",
    file: "packages/server/src/http/request/Admission.ts",
    from: "        tell(foreign)\n",
    to: "",
    test: "packages/server/test/http/request/refused.test.ts"
  }
]
