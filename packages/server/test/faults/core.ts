/** Small faults in limits, middleware, sessions and the handshake, each with the test that detects it. */
import type { Fault } from "@effect-mcp/spec/Fault"

const limits = "packages/server/src/Limits.ts"
const limitsTest = "packages/server/test/dispatch/limits.test.ts"
const rateLimit = "packages/server/src/features/RateLimit.ts"
const rateLimitTest = "packages/server/test/features/rate-limit.test.ts"
const rateLimitStoreTest = "packages/server/test/features/rate-limit-store.test.ts"
const toolLimits = "packages/server/src/features/ToolLimits.ts"
const toolLimitsTest = "packages/server/test/features/tool-limits.test.ts"

const postedTest = "packages/server/test/http/request/notifications.test.ts"

export const coreFaults: ReadonlyArray<Fault> = [
  {
    name: "a notification on a connection waits without a limit for a session that its client does not open",
    file: "packages/core/src/request/ExtensionMessages.ts",
    from: 'const patience: Duration.Input = "30 seconds"',
    to: 'const patience: Duration.Input = "30 days"',
    test: "packages/server/test/extensions/messages.test.ts"
  },
  {
    name: "notifications that wait are bounded by their number alone",
    file: "packages/server/src/internal/Mailbox.ts",
    from: "this.count < this.maxCount && this.size + size <= this.maxSize",
    to: "this.count < this.maxCount",
    test: postedTest
  },
  {
    name: "the bytes of a session are not released when it ends",
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
    file: "packages/server/src/features/Subscriptions.ts",
    from: "  limits.unsubscribe(session, uri)\n",
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
    name: "a node does not limit by what callers used at others",
    file: "packages/server/src/features/BucketSync.ts",
    from: "if (level !== undefined) this.set(level - this.used, now)",
    to: "if (level === Infinity) this.set(level - this.used, now)",
    test: rateLimitStoreTest
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
    name: "the size of structured content is not counted",
    file: toolLimits,
    from: "structuredContent === undefined || mirrored",
    to: "true",
    test: toolLimitsTest
  },
  {
    name: "changes are announced before the subscription is acknowledged",
    file: "packages/server/src/session/ChangeNotifier.ts",
    from: "private opened = false",
    to: "private opened = true",
    test: "packages/server/test/dispatch/stateless/subscriptions.test.ts",
    ids: ["subscriptions.acknowledged.nothing-before", "subscriptions.acknowledged.first"]
  },
  {
    name: "a list with entries of mounted sources is cached for all callers",
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
    name: "a second question of one name vanishes",
    file: "packages/server/src/mrtr/Questions.ts",
    from: "if (isSameForAll) return suspend",
    to: "return suspend",
    test: "packages/server/test/mrtr/Replay.test.ts",
    ids: ["mrtr.questions.unique-keys"]
  }
]
