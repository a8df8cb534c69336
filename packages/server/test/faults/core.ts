/** Small faults in limits, middleware, sessions and the handshake, each with the test that notices it. */
import type { Fault } from "@effect-mcp/spec/Fault"

const limits = "packages/server/src/Limits.ts"
const limitsTest = "packages/server/test/dispatch/limits.test.ts"
const middleware = "packages/server/src/features/Middleware.ts"
const middlewareTest = "packages/server/test/features/middleware.test.ts"
const rateLimit = "packages/server/src/features/RateLimit.ts"
const rateLimitTest = "packages/server/test/features/rate-limit.test.ts"
const rateLimitStoreTest = "packages/server/test/features/rate-limit-store.test.ts"
const toolLimits = "packages/server/src/features/ToolLimits.ts"
const toolLimitsTest = "packages/server/test/features/tool-limits.test.ts"
const sessions = "packages/server/src/http/session/SessionTable.ts"
const sessionsTest = "packages/server/test/http/session/SessionTable.test.ts"

const provided = "packages/core/src/features/Provided.ts"
const provideTest = "packages/server/test/features/provide.test.ts"
const refusalsTest = "packages/server/test/http/request/refusals.test.ts"

const postedTest = "packages/server/test/http/request/notifications.test.ts"

const inbound = "packages/server/src/features/InboundHooks.ts"
const inboundTest = "packages/server/test/features/inbound.test.ts"

const generationsTest = "packages/server/test/extensions/generations.test.ts"

export const coreFaults: ReadonlyArray<Fault> = [
  {
    name: "A handler of facts is called for the caller of the transport inside of middleware",
    file: "packages/server/src/request/ServerRequest.ts",
    from: "return this.eager ? this : undefined",
    to: "return this",
    test: "packages/server/test/extensions/facts.test.ts"
  },
  {
    name: "a stateless request whose client has gone is shown as running",
    file: "packages/server/src/http/stateless/StatelessEndpoint.ts",
    from: "isGivenUp = true",
    to: "isGivenUp = false",
    test: "packages/server/test/http/view.test.ts"
  },
  {
    name: "an interrupted round does not wait for its handler",
    file: "packages/server/src/mrtr/Replay.ts",
    from: "return Effect.asVoid(Fiber.await(handler))",
    to: "return Effect.void",
    test: "packages/server/test/http/view.test.ts"
  },
  {
    name: "a notification on a connection waits without a limit for a session that its client does not open",
    file: "packages/core/src/request/OwnMessages.ts",
    from: 'const patience: Duration.Input = "30 seconds"',
    to: 'const patience: Duration.Input = "30 days"',
    test: "packages/server/test/extensions/messages.test.ts"
  },
  {
    name: "a notification of a batch without sessions ends with the batch",
    file: "packages/server/src/http/session/SessionEndpoint.ts",
    from: "} else if (!this.outlasts(opened, member)) opened",
    to: "} else opened",
    test: postedTest
  },
  {
    name: "notifications that wait are bounded by their number alone",
    file: "packages/server/src/internal/Mailbox.ts",
    from: "this.count < this.maxCount && this.size + size <= this.maxSize",
    to: "this.count < this.maxCount",
    test: postedTest
  },
  {
    name: "a notification without a session overtakes one of its caller",
    file: "packages/server/src/session/Sender.ts",
    from: "this.callers.get(key) ?? new Caller()",
    to: "new Caller()",
    test: postedTest
  },
  {
    name: "a notification overtakes those that wait for a hook that is gone",
    file: inbound,
    from: "return !this.isEmpty || hookMailbox?.isBusy === true",
    to: "return !this.isEmpty",
    test: inboundTest
  },
  {
    name: "a method of an extension is served in revisions that lack it",
    file: "packages/server/src/features/ExtensionRegistry.ts",
    from: "if (Extension.hasMethod(part.request, revision)) {",
    to: 'if (part.request.method !== "") {',
    test: "packages/server/test/extensions/requests.test.ts"
  },
  {
    name: "a capability that depends on the caller in older revisions makes the answer to server/discover private",
    file: "packages/server/src/features/ExtensionRegistry.ts",
    from: "entry.isSameForAll || !revisions.some((revision) => Extension.isIn(entry, revision))",
    to: "entry.isSameForAll || revisions.length === 0",
    test: generationsTest
  },
  {
    name: "the contract of a server lists an extension in each of its generations",
    file: "packages/server/src/features/ExtensionRegistry.ts",
    from: "Effect.forEach(newest(entries(), revisions), (entry)",
    to: "Effect.forEach(entries(), (entry)",
    test: generationsTest
  },
  {
    name: "a notification of an extension is sent to a client that has stopped to read",
    file: "packages/core/src/request/OwnMessages.ts",
    from: '    if (on === "request") yield* stream.ready\n    else if (!(yield* isReady(stream.ready, outbound.closing))) return\n',
    to: "",
    test: "packages/server/test/extensions/messages.test.ts"
  },
  {
    name: "the header for the name of a request of an extension is not compared with its param",
    file: "packages/server/src/dispatch/StatelessEra.ts",
    from: "Headers.mismatch(headers, request, this.ownNameParam)",
    to: "Headers.mismatch(headers, request)",
    test: "packages/server/test/http/statuses.test.ts"
  },
  {
    name: "notifications do not wait for the hooks of earlier ones",
    file: "packages/server/src/internal/Mailbox.ts",
    from: "    if (this.running) return true\n",
    to: "",
    test: inboundTest
  },
  {
    name: "any number of notifications may wait for a hook",
    file: "packages/server/src/internal/Mailbox.ts",
    from: "this.count < this.maxCount && this.size",
    to: "this.size",
    test: inboundTest
  },
  {
    name: "the hook of a notification that dies ends the queue of its session",
    file: inbound,
    from: "      Effect.catchCause((cause) =>\n        Cause.hasInterruptsOnly(cause)",
    to: "      Effect.catchCause((cause) =>\n        Cause.hasDies(cause) ? Effect.die(cause) : Cause.hasInterruptsOnly(cause)",
    test: inboundTest
  },
  {
    name: "a hook sends notifications for a request that has ended",
    file: inbound,
    from: "Effect.sync(() => (arrival.over = true))",
    to: "Effect.void",
    test: inboundTest
  },
  {
    name: "a request waits until its client reads the stream of its session",
    file: "packages/server/src/session/Session.ts",
    from: "this.peer.sink.room ?? ",
    to: "",
    test: "packages/server/test/http/session/notify.test.ts"
  },
  {
    name: "a hook of a notification waits until its client reads the stream of its session",
    file: "packages/server/src/session/Sender.ts",
    from: "ready: session.connection.ready",
    to: "ready: session.ready",
    test: "packages/server/test/http/session/notify.test.ts"
  },
  {
    name: "a ping passes no hook",
    file: "packages/server/src/dispatch/Server.ts",
    from: "pings: (request) => inbound()?.isEmpty !== false && pings(request)",
    to: "pings: (request) => pings(request)",
    test: inboundTest
  },
  {
    name: "an initialize that is refused by its status is 400",
    file: "packages/server/src/http/session/SessionEndpoint.ts",
    from: "response.status === 200 ? HttpServerResponse",
    to: "response.status < 500 ? HttpServerResponse",
    test: "packages/server/test/http/request/inbound.test.ts"
  },
  {
    name: "an effect that middleware runs loses what the layer of the middleware has of its request",
    file: "packages/core/src/features/HandlerContext.ts",
    from: "before.get(key) !== after.get(key)",
    to: "before.get(key) === null",
    test: "packages/core/test/features/returningTo.test.ts"
  },
  {
    name: "an effect that middleware runs loses the scheduler of its handler",
    file: "packages/core/src/features/HandlerContext.ts",
    from: "if (after.has(HandlerScheduler.key)) return false",
    to: "",
    test: "packages/core/test/features/returningTo.test.ts"
  },
  {
    name: "an effect that middleware runs for another request has the services of the first",
    file: "packages/core/src/internal/LazyContext.ts",
    from: "return this.made === other.made",
    to: "return this.made !== undefined || other.made !== undefined",
    test: "packages/core/test/features/returningTo.test.ts"
  },
  {
    name: "all services of a request are made where middleware lies around it",
    file: "packages/core/src/features/HandlerContext.ts",
    from: "      isUnchanged(outer.mapUnsafe, inner.mapUnsafe)\n",
    to: "      isUnchanged(new Map(outer.mapUnsafe), inner.mapUnsafe)\n",
    test: "packages/core/test/features/returningTo.test.ts"
  },
  {
    name: "a handler runs before the services of its request are made",
    file: "packages/core/src/features/HandlerContext.ts",
    from: "Provided.within(provided, () => handler(...args))",
    to: "{ const handled = handler(...args); return Provided.within(provided, () => handled) }",
    test: provideTest
  },
  {
    name: "a service of the request is made for each handler that needs it",
    file: provided,
    from: "Context.getOrUndefined(fiber.context, Provided) ?? ",
    to: "",
    test: provideTest
  },
  {
    name: "a service of the request is not made again after its fiber was interrupted between two steps",
    file: provided,
    from: " && maker.pollUnsafe() === undefined",
    to: "",
    test: "packages/core/test/features/Provided.test.ts"
  },
  {
    name: "a fiber that waits for a service of the request is left alone where its maker was interrupted",
    file: provided,
    from: "Effect.raceFirst(ended, Fiber.await(maker))",
    to: "ended",
    test: "packages/core/test/features/Provided.test.ts"
  },
  {
    name: "an eager service of the request is made around middleware",
    file: "packages/server/src/features/Middleware.ts",
    from: "{ innermost: true }",
    to: "{}",
    test: provideTest
  },
  {
    name: "middleware of one method lies around every request",
    file: "packages/server/src/features/MiddlewareRegistry.ts",
    from: "if (method === undefined || method === called) run",
    to: "run",
    test: middlewareTest
  },
  {
    name: "an error with a status of its own is 200 in a session",
    file: "packages/server/src/http/session/SessionEndpoint.ts",
    from: "answered(response.json, response.refusal)",
    to: "answered(response.json, undefined)",
    test: refusalsTest
  },
  {
    name: "an error with a status of its own is 200 without a session",
    file: "packages/server/src/http/stateless/StatelessEndpoint.ts",
    from: "refusalOf(answer.message)",
    to: "undefined",
    test: refusalsTest
  },
  {
    name: "a challenge may hold a line break",
    file: "packages/protocol/src/wire/McpError.ts",
    from: 'challenge?.replaceAll(/[^\\x20-\\x7e]/gu, "?")',
    to: "challenge",
    test: refusalsTest
  },
  {
    name: "a header of a handler's HTTP request may come from a prototype",
    file: "packages/core/src/request/RequestContext.ts",
    from: "= Object.create(null)",
    to: "= {}",
    test: refusalsTest
  },
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
    name: "a round that asks is a cancellation to middleware",
    file: middleware,
    from: 'if (isSuspension(cause)) return { _tag: "Asked" }',
    to: "",
    test: middlewareTest
  },
  {
    name: "middleware lies around requests that it leaves out",
    file: "packages/server/src/features/MiddlewareRegistry.ts",
    from: "when?.(request) === false ? next",
    to: "when === undefined && request === undefined ? next",
    test: middlewareTest
  },
  {
    name: "a request takes the path of middleware that leaves it out",
    file: "packages/server/src/features/MiddlewareRegistry.ts",
    from: "when === undefined || when(request)",
    to: "when !== request",
    test: middlewareTest
  },
  {
    name: "middleware swaps the method of a request",
    file: "packages/server/src/features/MiddlewareRegistry.ts",
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
    name: "a request that is observed and has waited counts for the rate limit when it arrived",
    file: rateLimit,
    from: "base !== undefined && waited === 0 && arrived !== 0",
    to: "base !== undefined && arrived !== 0",
    test: "packages/server/test/features/rate-limit-observed.test.ts"
  },
  {
    name: "a request that is observed and held up by a hook counts for the rate limit when it arrived",
    file: rateLimit,
    from: "base !== undefined && waited === 0 && arrived !== 0 ?",
    to: "waited === 0 && arrived !== 0 ?",
    test: "packages/server/test/features/rate-limit-observed.test.ts"
  },
  {
    name: "a watcher of a resource runs on when its last subscriber has left",
    file: "packages/server/src/features/ResourceWatchers.ts",
    from: "if (watcher.subscriptions.size > 0) return Effect.void",
    to: "if (watcher.subscriptions.size >= 0) return Effect.void",
    test: "packages/server/test/features/watching.test.ts"
  },
  {
    name: "of several sources the first alone is watched",
    file: "packages/server/src/features/ResourceEntries.ts",
    from: "streams.length > 1 ? ofEach(streams) : streams[0]",
    to: "streams.length > 9 ? ofEach(streams) : streams[0]",
    test: "packages/server/test/features/several-sources.test.ts"
  },
  {
    name: "each subscriber of a resource starts a watcher",
    file: "packages/server/src/features/ResourceWatchers.ts",
    from: "return known === undefined ? this.start(name, key)",
    to: "return known === undefined || true ? this.start(name, key)",
    test: "packages/server/test/features/watching.test.ts"
  },
  {
    name: "a node keeps to itself what its callers used",
    file: "packages/server/src/features/Settling.ts",
    from: "used: this.used, perSecond",
    to: "used: 0, perSecond",
    test: rateLimitStoreTest
  },
  {
    name: "a node does not limit by what callers used at others",
    file: "packages/server/src/features/Settling.ts",
    from: "if (level !== undefined) this.set(level - this.used, now)",
    to: "if (level === Infinity) this.set(level - this.used, now)",
    test: rateLimitStoreTest
  },
  {
    name: "what a node could not tell of its callers is forgotten",
    file: "packages/server/src/features/Settling.ts",
    from: "this.used = Math.min(this.used, 2 * this.perSecond - this.level(now))",
    to: "this.used = 0 * now",
    test: rateLimitStoreTest
  },
  {
    name: "a caller owes the use of a whole outage of the store",
    file: "packages/server/src/features/Settling.ts",
    from: "Math.min(this.used, 2 * this.perSecond - this.level(now))",
    to: "Math.max(this.used, 2 * this.perSecond - this.level(now))",
    test: rateLimitStoreTest
  },
  {
    name: "a bucket that waits to be settled is forgotten",
    file: "packages/server/src/features/Settling.ts",
    from: "return !this.isWaiting && super.isFull(now)",
    to: "return super.isFull(now)",
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
    name: "a call that is late is never stopped",
    file: toolLimits,
    from: "  call.fiber?.interruptUnsafe()\n",
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
    from: "if (isSameForAll) return suspend",
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
  },
  {
    name: "a method that neither the server nor its middleware has is answered with the status of a handler",
    file: "packages/server/src/dispatch/StatelessEra.ts",
    from: "if (operation.isKnown) origin.admitted?.()",
    to: "origin.admitted?.()",
    test: "packages/server/test/http/statuses.test.ts"
  }
]
