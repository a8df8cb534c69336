/** Faults of the client put in by hand, and the test that notices each. */
import type { Fault } from "@effect-mcp/spec/Fault"
import { extension } from "./faults/extension.ts"
import { taskReceiver } from "./faults/receiver.ts"
import { tasks } from "./faults/tasks.ts"
import { servers } from "./faults/servers.ts"
import { statements } from "./faults/statements.ts"

const streamable = "packages/client/src/transport/http/Streamable.ts"
const model = "packages/client/test/transport/http/Streamable.model.test.ts"

const httpPartsTest = "packages/client/test/assembly/HttpParts.test.ts"
const assemblyTest = "packages/client/test/assembly/NotLoaded.test.ts"

const middleware = "packages/client/src/connection/aroundMiddleware.ts"
const middlewareTest = "packages/client/test/connection/ClientMiddleware.test.ts"

export const faults: ReadonlyArray<Fault> = [
  ...statements,
  ...extension,
  ...tasks,
  ...taskReceiver,
  ...servers,
  {
    name: "an observer of a client that throws keeps the later ones from being called",
    file: "packages/client/src/connection/observe.ts",
    from: "callEach(all, (one) => one.request?.({",
    to: "all.forEach((one) => one.request?.({",
    test: "packages/client/test/connection/observe.test.ts"
  },
  {
    name: "an observer of a client never learns the end of a connection where another threw as it opened",
    file: "packages/client/src/connection/observe.ts",
    from: "Effect.addFinalizer(() => closed)",
    to: "Effect.void",
    test: "packages/client/test/connection/observe.test.ts"
  },
  {
    name: "a module of the client that cannot be loaded is a defect",
    file: "packages/client/src/internal/Late.ts",
    from: "return new NotLoaded({",
    to: "throw new NotLoaded({",
    test: assemblyTest,
    project: "client:first"
  },
  {
    name: "the first watches of a client make one object each",
    file: "packages/client/src/assembly/ClientParts.ts",
    from: "      parts.watches === undefined\n",
    to: "      true\n",
    test: assemblyTest,
    project: "client:first"
  },
  {
    name: "the first requests of extensions make their members once each",
    file: "packages/client/src/features/ExtensionEntrance.ts",
    from: "    if (this.made !== undefined) return Effect.succeed(this.made)\n",
    to: "",
    test: assemblyTest,
    project: "client:first"
  },
  {
    name: "the first requests of a client without a session make its cache once each",
    file: "packages/client/src/connection/StatelessEra.ts",
    from: "  if (state.memory !== undefined) return Effect.succeed(state.memory)\n",
    to: "",
    test: assemblyTest,
    project: "client:first"
  },
  {
    name: "the last middleware of a client is the outermost",
    file: middleware,
    from: "around.reduceRight<typeof send>(",
    to: "around.reduce<typeof send>(",
    test: middlewareTest
  },
  {
    name: "a request that middleware sent again counts as unsent where its last try did not leave",
    file: middleware,
    from: "(this.reached && isUnsent(error) ? sent(error) : error)",
    to: "error",
    test: middlewareTest
  },
  {
    name: "middleware given to middleware of a client is dropped",
    file: "packages/client/src/connection/ClientMiddleware.ts",
    from: "return [...outer, ...middleware",
    to: "return [...middleware",
    test: middlewareTest
  },
  {
    name: "middleware makes a question that must not be asked an answer to the server",
    file: middleware,
    from: "(refused?.error === error ? refused : error)",
    to: "error",
    test: middlewareTest
  },
  {
    name: "entries of _meta that middleware adds take the place of the others",
    file: middleware,
    from: "withMeta(given ?? {}, changes.meta)",
    to: "{ ...given, _meta: changes.meta }",
    test: middlewareTest
  },
  {
    name: "a client fetches the URL of a question",
    file: "packages/client/src/answering/ServerRequests.ts",
    from: "Effect.flatMap(service.elicit(params), (answer)",
    to: 'Effect.flatMap(Effect.andThen(Effect.promise(async () => void ("url" in params && (await fetch(String(params.url), { signal: AbortSignal.timeout(50) }).catch(() => {})))), service.elicit(params)), (answer)',
    test: "packages/client/test/answering/UrlNotFetched.test.ts",
    ids: ["elicitation.url.not-prefetched"]
  },
  {
    name: "initialize declares no capability",
    file: "packages/client/src/connection/Negotiation.ts",
    from: "capabilities: options.capabilities,",
    to: "capabilities: {},",
    test: "packages/client/test/connection/Declarations.test.ts",
    ids: ["lifecycle.initialize.request"]
  },
  {
    name: "a client goes on in the revision that it offered",
    file: "packages/client/src/connection/Negotiation.ts",
    from: "return { revision, serverInfo, serverCapabilities: capabilities, instructions }",
    to: "return { revision: offered, serverInfo, serverCapabilities: capabilities, instructions }",
    test: "packages/client/test/connection/Declarations.test.ts",
    ids: ["lifecycle.operation.version-respected"]
  },
  {
    name: "a request over fetch goes on after its interruption",
    file: "packages/client/src/transport/http/FetchSender.ts",
    from: "Effect.sync(() => exchange.abort())",
    to: "Effect.void",
    test: "packages/client/test/transport/Fetch.test.ts"
  },
  {
    name: "the end of the scope leaves a reader of HTTP with SSE waiting",
    file: "packages/client/src/transport/http/SseTransport.ts",
    from: "Scope.addFinalizer(stream, Queue.end(messages))",
    to: "Scope.addFinalizer(stream, Effect.void)",
    test: "packages/client/test/transport/Sse.test.ts"
  },
  {
    name: "the length of a body that another origin has packed counts as that of the body",
    file: "packages/client/src/transport/http/FetchSender.ts",
    from: 'response.type === "cors"',
    to: "response.redirected",
    test: "packages/client/test/transport/Fetch.test.ts"
  },
  {
    name: "an error of a header shows the header",
    file: "packages/client/src/transport/http/Endpoint.ts",
    from: 'catch: () =>\n      refuse(\n        "The option',
    to: 'catch: (cause) =>\n      refuse(\n        String(cause) + "The option',
    test: "packages/client/test/transport/http/NoEndpoint.test.ts"
  },
  {
    name: "a URL with a password is requested",
    file: "packages/client/src/transport/http/Endpoint.ts",
    from: 'url.username + url.password === ""',
    to: "url.href",
    test: "packages/client/test/transport/http/NoEndpoint.test.ts"
  },
  {
    name: "the headers of one request are sent unchecked",
    file: "packages/client/src/transport/http/Exchange.ts",
    from: "sendable(headers)",
    to: "Effect.succeed(headers)",
    test: "packages/client/test/transport/http/NoEndpoint.test.ts"
  },
  {
    name: "a request over fetch has the length that its user says",
    file: "packages/client/src/transport/http/FetchSender.ts",
    from: "headers: sent,",
    to: "headers,",
    test: "packages/client/test/transport/http/Stateless.test.ts"
  },
  {
    name: "another handshake keeps the session before it",
    file: "packages/client/src/transport/http/Endpoint.ts",
    from: "this.session = undefined\n    this.version = undefined",
    to: "this.version = undefined",
    test: model
  },
  {
    name: "initialize carries the old session id",
    file: "packages/client/src/transport/http/Endpoint.ts",
    from: ': request?.method === "initialize"\n          ? undefined\n          : this.ofSession',
    to: ': request?.method === "initialize" && this.version === "never"\n          ? undefined\n          : { "mcp-session-id": "session-0", ...this.ofSession }',
    test: model
  },
  {
    name: "another handshake keeps the stream of the session before it",
    file: streamable,
    from: "this.standaloneStream?.interruptUnsafe()",
    to: "void this.standaloneStream",
    test: model
  },
  {
    name: "exchanges are kept for ever",
    file: streamable,
    from: "this.exchanges.delete(id)",
    to: "void id",
    test: model
  },
  {
    name: "the cancellation of a stateless request is posted",
    file: streamable,
    from: "(exchange.begun && !exchange.stateless)",
    to: "exchange.begun",
    test: model
  },
  {
    name: "the listener of missed announcements hangs when the wire ends",
    file: streamable,
    from: "this.missed.close(Exit.void)",
    to: "void Exit.void",
    test: model
  },
  {
    name: "the first connection of a session's stream reports a gap",
    file: "packages/client/src/transport/http/ResumeStream.ts",
    from: "if (wasOpen && lastEventId === undefined) missed()",
    to: "if (lastEventId === undefined) missed()",
    test: model
  },
  {
    name: "a connection whose opening failed stays open",
    file: "packages/client/src/reconnect/Reconnect.ts",
    from: "(Exit.isFailure(exit) ? Scope.close(own, exit) : backoff.started)",
    to: "(Exit.isFailure(exit) ? Effect.void : backoff.started)",
    test: "packages/client/test/reconnect/ReconnectOpening.test.ts"
  },
  {
    name: "a connection that could not be restored stays open",
    file: "packages/client/src/reconnect/Reconnect.ts",
    from: "Effect.onError(restore(connection), (cause) => Scope.close(scope, Exit.failCause(cause)))",
    to: "restore(connection)",
    test: "packages/client/test/reconnect/ReconnectOpening.test.ts"
  },
  {
    name: "the refusal of a caller is Closed",
    file: "packages/client/src/reconnect/RequestRetry.ts",
    from: "return Effect.mapError(untilDeadline(sending, rest), denied)",
    to: "return untilDeadline(sending, rest)",
    test: "packages/client/test/transport/http/Refused.test.ts"
  },
  {
    name: "the refusal of a caller that does not reconnect is Closed",
    file: "packages/client/src/reconnect/FirstTry.ts",
    from: "return Effect.mapError(sending.attempt(connection), denied)",
    to: "return sending.attempt(connection)",
    test: "packages/client/test/transport/http/Refused.test.ts"
  },
  {
    name: "each client over HTTP loads what only sessions and refusals need",
    file: streamable,
    from: 'if (method !== "initialize") return',
    to: 'if (method === "") return',
    test: httpPartsTest,
    project: "client:first"
  },
  {
    name: "a wrong option of streams leaves a session without its stream",
    file: streamable,
    from: "        this.streams(rare)\n",
    to: "        void rare\n",
    test: httpPartsTest,
    project: "client:first"
  },
  {
    name: "a refused request whose module is missing fails with Closed",
    file: "packages/client/src/ClientError.ts",
    from: " || cause instanceof NotLoaded",
    to: "",
    test: httpPartsTest,
    project: "client:first"
  },
  {
    name: "a message over HTTP overtakes one that waits for its module",
    file: streamable,
    from: "Effect.andThen(accepted, sending), (cause) =>",
    to: "sending, (cause) =>",
    test: httpPartsTest,
    project: "client:first"
  },
  {
    name: "a response that waits for a module keeps its connection where that is missing",
    file: "packages/client/src/transport/http/withRareParts.ts",
    from: "() => unused",
    to: "() => Effect.void",
    test: httpPartsTest,
    project: "client:first"
  },
  {
    name: "a server that refuses initialize is said to be no older one where HTTP with SSE is missing",
    file: "packages/client/src/transport/http/RefusedExchange.ts",
    from: "error.cause instanceof NotLoaded",
    to: "error.cause === undefined",
    test: httpPartsTest,
    project: "client:first"
  },
  {
    name: "a web page is not said to be one",
    file: "packages/client/src/transport/http/Refusal.ts",
    from: "if (isPage(type, body)) {",
    to: "if (isPage(type, body) && status === 0) {",
    test: "packages/client/test/transport/http/NoEndpoint.test.ts"
  },
  {
    name: "the probe and the handshake have a time of their own each",
    file: "packages/client/src/connection/Connection.ts",
    from: "Effect.timeoutOrElse({ duration: timeout, orElse: () => late }),",
    to: "",
    test: "packages/client/test/connection/OpeningTime.test.ts"
  },
  {
    name: "lists have no bound in bytes",
    file: "packages/client/src/features/Lists.ts",
    from: "if (bytes > maxBytes) {",
    to: "if (bytes < 0) {",
    test: "packages/client/test/features/Budgets.test.ts"
  },
  {
    name: "what leaves the cache keeps its room",
    file: "packages/client/src/connection/ResponseCache.ts",
    from: "this.bytes -= this.kept.get(key)?.size ?? 0",
    to: "void key",
    test: "packages/client/test/features/Budgets.test.ts"
  },
  {
    name: "remembered tools have no bound",
    file: "packages/client/src/features/ToolCatalog.ts",
    from: "if (this.bytes <= this.maxBytes) return",
    to: "return",
    test: "packages/client/test/features/Budgets.test.ts"
  },
  {
    name: "a subscription that tells of one update begins its waits anew",
    file: "packages/client/src/connection/Backoff.ts",
    from: "else if (this.useful) this.failures = Math.min(this.failures, Math.max(0, attempts - 1))",
    to: "else if (this.useful) this.failures = 0",
    test: "packages/client/test/features/Budgets.test.ts"
  },
  {
    name: "an open connection without events counts as a lost server",
    file: "packages/client/src/transport/http/ResumeStream.ts",
    from: 'tries.failures === 0 || ended === "Read"',
    to: "tries.failures === 0",
    test: "packages/client/test/transport/http/Resume.test.ts"
  },
  {
    name: "streams that end at once are opened again without a growing wait",
    file: "packages/client/src/transport/http/ResumeStream.ts",
    from: "this.minDelay * Math.min(growth, 2 ** brief)",
    to: "this.minDelay",
    test: "packages/client/test/transport/http/EndedStreams.test.ts"
  },
  {
    name: "a retry of the server's is taken without a floor",
    file: "packages/client/src/transport/http/ResumeStream.ts",
    from: "Effect.sleep(Math.max(least, retry",
    to: "Effect.sleep(Math.max(0 * least, retry",
    test: "packages/client/test/transport/http/EndedStreams.test.ts"
  },
  {
    name: "progress of an answer is not sent to the server that asked for it",
    file: "packages/client/src/answering/ServerRequests.ts",
    from: "...(token === undefined ? undefined : { progress: progressOf(token, conversation) }),",
    to: "...(token === null ? { progress: progressOf(token, conversation) } : undefined),",
    test: "packages/client/test/answering/Progress.test.ts"
  },
  {
    name: "progress of an answer has a message in a revision without it",
    file: "packages/client/src/answering/ServerRequests.ts",
    from: "message === undefined || !revision.rules.progressMessage ? undefined",
    to: "message === undefined ? undefined",
    test: "packages/client/test/answering/Progress.test.ts"
  },
  {
    name: "a caller's progress of a forwarded question is dropped",
    file: "packages/client/src/answering/ForwardedRequests.ts",
    from: "ask(method, params, { ...options, onProgress })",
    to: "ask(method, params, { ...options })",
    test: "packages/client/test/answering/Progress.test.ts"
  }
]
