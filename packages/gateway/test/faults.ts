/** Faults put in by hand, and the test that notices each. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "a question as a task is passed on without its task",
    file: "packages/gateway/src/tasks/TaskReceiving.ts",
    from: "pass(task === undefined ? {} : { task })",
    to: "pass({})",
    test: "packages/gateway/test/tasks/TaskReceiving.test.ts"
  },
  {
    name: "a gateway runs questions as tasks for a client that runs none",
    file: "packages/gateway/src/tasks/TaskReceiving.ts",
    from: "requests?.elicitation?.create !== undefined",
    to: "requests !== null",
    test: "packages/gateway/test/tasks/TaskReceiving.test.ts"
  },
  {
    name: "a question of a task that gives up takes others along that wait for the same task",
    file: "packages/gateway/src/tasks/TaskQuestions.ts",
    from: "if (--awaited.questions === 0) this",
    to: "this",
    test: "packages/gateway/test/tasks/TaskQuestions.test.ts"
  },
  {
    name: "a question of one task goes to another",
    file: "packages/gateway/src/tasks/TaskQuestions.ts",
    from: "Effect.provideService(next, CurrentCall, call)",
    to: "Effect.andThen(Effect.succeed(call), next)",
    test: "packages/gateway/test/tasks/Tasks.test.ts"
  },
  {
    name: "a tool that runs only as a task is called for a caller that can have none",
    file: "packages/gateway/src/tasks/Tasks.ts",
    from: 'return support === "required" ? yield* TaskMaker.taskRequired(params.name, context) : "request"',
    to: 'return "request"',
    test: "packages/gateway/test/tasks/Tasks.test.ts"
  },
  {
    name: "tools of a server of the extension may be no tasks for a caller of 2025-11-25",
    file: "packages/gateway/src/downstream/Relay.ts",
    from: 'return "tools" in result ? Tasks.listed(result, client, revision) : result',
    to: "return result",
    test: "packages/gateway/test/tasks/Tasks.test.ts"
  },
  {
    name: "an extension keeps its member between eras",
    file: "packages/gateway/src/Translation.ts",
    from: "if (from.era === to.era) return",
    to: "if (to.era !== undefined) return",
    test: "packages/gateway/test/extensions.test.ts"
  },
  {
    name: "an unknown notification beside a request goes to no client",
    file: "packages/gateway/src/call/UnknownMethods.ts",
    from: "else call.notify(method, params)",
    to: "",
    test: "packages/gateway/test/extensions.test.ts"
  },
  {
    name: "progress of the answer to an unknown question is dropped",
    file: "packages/gateway/src/upstream/Upstream.ts",
    from: "{ key: requester?.key, onProgress }",
    to: "{ key: requester?.key }",
    test: "packages/gateway/test/extensions.test.ts"
  },
  {
    name: "kinds of subscriptions that extensions add are not passed on",
    file: "packages/gateway/src/downstream/Listening.ts",
    from: "...(yield* listenOwn(upstream, kinds, notifyClient)),",
    to: "",
    test: "packages/gateway/test/extensions.test.ts"
  },
  {
    name: "the header of a method of a known extension is not compared",
    file: "packages/gateway/src/downstream/Relay.ts",
    from: "if (different !== undefined) return yield* McpError.headerMismatch(different)",
    to: "",
    test: "packages/gateway/test/extensions.test.ts"
  },
  {
    name: "the refusal of a header by the server behind is an internal error",
    file: "packages/server/src/dispatch/StatelessEra.ts",
    from: "operation.isKnown ? sanitizeError : sanitizeForeign",
    to: "sanitizeError",
    test: "packages/gateway/test/http.test.ts"
  },
  {
    name: "a task of the server behind is followed to its end for a caller that can have tasks",
    file: "packages/gateway/src/downstream/Relay.ts",
    from: 'onTask: fate === "either" ? onTask : undefined',
    to: "onTask: undefined",
    test: "packages/gateway/test/tasks/Tasks.test.ts"
  },
  {
    name: "a conversation ends with its session, under a task",
    file: "packages/gateway/src/upstream/Upstreams.ts",
    from: "entry.orphaned = entry.users > 0",
    to: "entry.orphaned = entry.users < 0",
    test: "packages/gateway/test/upstream/Upstreams.test.ts"
  },
  {
    name: "tasks are announced to a client that did not declare them",
    file: "packages/gateway/src/downstream/Listening.ts",
    from: "if (Extension.settingsIn(TasksExtension, revision, clientCapabilities) === undefined) {",
    to: "if (revision === undefined) {",
    test: "packages/gateway/test/tasks/Tasks.test.ts"
  },
  {
    name: "a gateway has the methods of tasks before a server without them",
    file: "packages/gateway/src/tasks/Tasks.ts",
    from: 'generation() !== "none" && entry.offered(caller)',
    to: "entry.offered(caller)",
    test: "packages/gateway/test/tasks/Tasks.test.ts"
  },
  {
    name: "a question of a mounted tool goes to the user of the process that mounts it",
    file: "packages/client/src/answering/ForwardedRequests.ts",
    from: "if (oldest === undefined) return Effect.undefined",
    to: "if (oldest === undefined || id === undefined) return Effect.undefined",
    test: "packages/gateway/test/mounted.test.ts"
  },
  {
    name: "a question that names no call goes to the oldest of several callers",
    file: "packages/client/src/answering/ForwardedRequests.ts",
    from: "connection !== undefined && connection === oldest.connection",
    to: "connection !== null",
    test: "packages/gateway/test/mounted.test.ts"
  },
  {
    name: "contents of a mounted resource keep the URI that they have behind",
    file: "packages/server/src/features/ResourceRegistry.ts",
    from: "({ ...part, uri: prefix + part.uri })",
    to: "({ ...part })",
    test: "packages/gateway/test/mounted.test.ts"
  },
  {
    name: "calls of the same subject of two issuers share a conversation",
    file: "packages/gateway/src/upstream/Upstreams.ts",
    from: "JSON.stringify([callerKey(principal), revision.version,",
    to: "JSON.stringify([principal.subject, revision.version,",
    test: "packages/gateway/test/upstream/Upstreams.test.ts"
  },
  {
    name: "clients of two revisions share a conversation",
    file: "packages/gateway/src/upstream/Upstreams.ts",
    from: "callerKey(principal), revision.version, clientInfo",
    to: "callerKey(principal), clientInfo",
    test: "packages/gateway/test/upstream/Upstreams.test.ts"
  },
  {
    name: "the wire of a client is remembered after its end",
    file: "packages/gateway/src/upstream/Upstreams.ts",
    from: "  wires.delete(wire)\n",
    to: "",
    test: "packages/gateway/test/upstream/Upstreams.test.ts"
  },
  {
    name: "a conversation that could not be opened is remembered",
    file: "packages/gateway/src/upstream/Upstreams.ts",
    from: "Exit.isFailure(exit) ? close(entry) : Effect.void",
    to: "Exit.isFailure(exit) ? Scope.close(entry.scope, Exit.void) : Effect.void",
    test: "packages/gateway/test/upstream/Upstreams.test.ts"
  },
  {
    name: "one caller may hold all conversations",
    file: "packages/gateway/src/upstream/Upstreams.ts",
    from: "shares.exceededBy(entry.caller, 0)",
    to: "shares.exceededBy(undefined, 0)",
    test: "packages/gateway/test/upstream/Upstreams.test.ts"
  },
  {
    name: "a call that waits cancels the call of another caller",
    file: "packages/gateway/src/upstream/UpstreamCalls.ts",
    from: "oldestOfHeaviest(among, undefined, caller)",
    to: "among[0]",
    test: "packages/gateway/test/upstream/UpstreamCalls.test.ts"
  },
  {
    name: "later rounds are not checked against their headers",
    file: "packages/gateway/src/upstream/UpstreamCalls.ts",
    from: "    yield* start.admit(known)\n",
    to: "",
    test: "packages/gateway/test/upstream/UpstreamCalls.test.ts"
  },
  {
    name: "the first attached request that ends cancels the call for the others",
    file: "packages/gateway/src/upstream/UpstreamCalls.ts",
    from: "if (call.attached > 0) return Effect.void",
    to: "",
    test: "packages/gateway/test/upstream/UpstreamCalls.test.ts"
  },
  {
    name: "a call waits without bound for an upstream server that is lost",
    file: "packages/gateway/src/downstream/Relay.ts",
    from: "  maxTotal: Duration.infinity,\n  reconnectTimeout,",
    to: "  maxTotal: Duration.infinity,",
    test: "packages/gateway/test/lost.test.ts"
  },
  {
    name: "a query waits for a minute for an upstream server that is lost",
    file: "packages/gateway/src/downstream/Relay.ts",
    from: "client.request(method, sent as never, { reconnectTimeout, ...",
    to: "client.request(method, sent as never, { ...",
    test: "packages/gateway/test/lost.test.ts"
  },
  {
    name: "a call of a gateway waits for all tries to resume its stream",
    file: "packages/gateway/src/Gateway.ts",
    from: "Context.add(services, Resume, { timeout: reconnectTimeout })",
    to: "Context.add(services, Resume, {})",
    test: "packages/gateway/test/lost-http.test.ts"
  },
  {
    name: "a call to a mounted tool goes to the source that was mounted first, whatever it lists",
    file: "packages/server/src/features/SourceOwners.ts",
    from: "if (offers.size <= 1 || first === undefined) return first",
    to: "if (first !== undefined || offers.size <= 1) return first",
    test: "packages/gateway/test/mounted.test.ts"
  },
  {
    name: "mounted tools have no prefix",
    file: "packages/server/src/features/MountedTools.ts",
    from: "({ ...tool, name: prefix + tool.name })",
    to: "tool",
    test: "packages/gateway/test/mounted.test.ts",
    ids: ["tools.name.disambiguated"]
  },
  {
    name: "mounted tools have the name of their server in theirs",
    file: "packages/client/src/mount/Sources.ts",
    from: "list: listed(client.listTools)",
    to: "list: Effect.map(listed(client.listTools), (all) => all.map((tool) => ({ ...tool, name: client.serverInfo.name + tool.name })))",
    test: "packages/gateway/test/mounted.test.ts",
    ids: ["tools.name.not-by-server-name"]
  },
  {
    name: "a gateway asks an upstream server for a list that it lacks",
    file: "packages/gateway/src/downstream/Relay.ts",
    from: "relay.changingLists && lacksList(client, method)",
    to: "relay.changingLists && method.length === 0",
    test: "packages/gateway/test/changing-lists.test.ts"
  },
  {
    name: "a gateway declares all lists without being told to",
    file: "packages/gateway/src/Gateway.ts",
    from: "changingLists = false, middleware",
    to: "changingLists = true, middleware",
    test: "packages/gateway/test/changing-lists.test.ts"
  },
  {
    name: "middleware of a gateway does not see its requests",
    file: "packages/gateway/src/Gateway.ts",
    from: "middleware === undefined ? relay : around(middleware, relay)",
    to: "relay",
    test: "packages/gateway/test/changing-lists.test.ts"
  }
]
