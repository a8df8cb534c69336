/** Small faults against statements of the specification, each with the one test that proves the statement. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const statements: ReadonlyArray<Fault> = [
  {
    name: "a client of the stateless era alone answers a ping before the answer to its probe",
    file: "packages/client/src/connection/Connection.ts",
    from: "opening.negotiated === undefined ? !speaksOlder :",
    to: "opening.negotiated === undefined ? false :",
    test: "packages/client/test/connection/Discovery.test.ts",
    ids: ["stdio.client.no-responses"]
  },
  {
    name: "the client does not return the state",
    file: "packages/client/src/connection/InputRounds.ts",
    from: "const state = requestState === undefined ? undefined : { requestState }",
    to: "const state = undefined",
    test: "packages/client/test/connection/InputRounds.test.ts",
    ids: ["mrtr.client.state-echoed"]
  },
  {
    name: "the client invents a state",
    file: "packages/client/src/connection/InputRounds.ts",
    from: "const state = requestState === undefined ? undefined : { requestState }",
    to: 'const state = { requestState: requestState ?? "" }',
    test: "packages/client/test/connection/InputRounds.test.ts",
    ids: ["mrtr.client.state-not-invented"]
  },
  {
    name: "a client continues with a version that it does not speak",
    file: "packages/client/src/connection/Negotiation.ts",
    from: "=== picked)\n",
    to: "=== picked) ?? newest\n",
    test: "packages/client/test/connection/Negotiation.test.ts",
    ids: ["lifecycle.version.client-disconnects"]
  },
  {
    name: "a client offers a version that it was told not to speak",
    file: "packages/client/src/connection/Negotiation.ts",
    from: "const newest = revisions.at(-1)",
    to: "const newest = Revision.stateful.at(-1)",
    test: "packages/client/test/connection/Negotiation.test.ts",
    ids: ["lifecycle.version.client-supports-offer"]
  },
  {
    name: "a client cancels initialize",
    file: "packages/client/src/connection/Negotiation.ts",
    from: "cancellable: false",
    to: "cancellable: true",
    test: "packages/client/test/connection/Negotiation.test.ts",
    ids: ["cancellation.initialize-not-cancelled"]
  },
  {
    name: "a client does not send initialized",
    file: "packages/client/src/connection/Negotiation.ts",
    from: 'peer.notify("notifications/initialized")',
    to: "",
    test: "packages/client/test/connection/Negotiation.test.ts",
    ids: ["lifecycle.initialized.sent"]
  },
  {
    name: "a client that samples does not declare it",
    file: "packages/client/src/answering/ServerRequests.ts",
    from: "...(sampling === undefined\n",
    to: "...(sampling !== null\n",
    test: "packages/client/test/answering/Questions.test.ts",
    ids: ["sampling.capability.declared"]
  },
  {
    name: "a client that elicits does not declare it",
    file: "packages/client/src/answering/ServerRequests.ts",
    from: "...(elicitation === undefined || !(elicitation.modes.form || elicitation.modes.url)",
    to: "...(elicitation !== null",
    test: "packages/client/test/answering/Elicitation.test.ts",
    ids: ["elicitation.capability.declared"]
  },
  {
    name: "a client declares elicitation without any mode",
    file: "packages/client/src/answering/ServerRequests.ts",
    from: "...(elicitation === undefined || !(elicitation.modes.form || elicitation.modes.url)",
    to: "...(elicitation === undefined",
    test: "packages/client/test/answering/QuestionKinds.test.ts",
    ids: ["elicitation.capability.one-mode"]
  },
  {
    name: "a client that lets the model use tools does not declare it",
    file: "packages/client/src/answering/ServerRequests.ts",
    from: "...(sampling.capabilities.tools ? { tools: {} } : undefined),",
    to: "",
    test: "packages/client/test/answering/QuestionKinds.test.ts",
    ids: ["sampling.tools.capability-declared"]
  },
  {
    name: "a client answers questions that it did not declare",
    file: "packages/client/src/answering/ServerRequests.ts",
    from: "return missing === undefined\n",
    to: "return missing !== null\n",
    test: "packages/client/test/answering/QuestionKinds.test.ts",
    ids: ["sampling.tools.undeclared-error"]
  },
  {
    name: "a request declares no capabilities",
    file: "packages/client/src/connection/Declaration.ts",
    from: "[Meta.clientCapabilities]: capabilities,",
    to: "[Meta.clientCapabilities]: {},",
    test: "packages/client/test/connection/Requests.test.ts",
    ids: ["roots.capability.each-request", "sampling.capability.each-request", "elicitation.capability.each-request"]
  },
  {
    name: "a root may have any scheme",
    file: "packages/client/src/answering/ServerRequests.ts",
    from: 'new URL(uri).protocol === "file:" && ',
    to: "",
    test: "packages/client/test/answering/Questions.test.ts",
    ids: ["roots.uri.file"]
  },
  {
    name: "a root may climb",
    file: "packages/client/src/answering/ServerRequests.ts",
    from: "&& !/(^|[/\\\\])(\\.|%2e){2}([/\\\\]|$)/i.test(uri)",
    to: "",
    test: "packages/client/test/answering/Questions.test.ts",
    ids: ["roots.client.uri-validated"]
  },
  {
    name: "roots are sent without consent",
    file: "packages/client/src/answering/ServerRequests.ts",
    from: 'Consent.guard(consent, { _tag: "ListRoots", server }, service.list)',
    to: "service.list",
    test: "packages/client/test/answering/Questions.test.ts",
    ids: ["roots.client.permitted-only", "roots.client.access-control"]
  },
  {
    name: "a prompt for the model is sent without consent",
    file: "packages/client/src/answering/ServerRequests.ts",
    from: 'Consent.guard(consent, { _tag: "CreateMessage", ...action }, sampled)',
    to: "sampled",
    test: "packages/client/test/answering/Questions.test.ts",
    ids: ["sampling.security.approval"]
  },
  {
    name: "a client does not notice that a folder has become inaccessible",
    file: "packages/client/src/answering/RootFolders.ts",
    from: "Stream.changesWith(isSame)",
    to: "Stream.take(1)",
    test: "packages/client/test/answering/RootFolders.test.ts",
    ids: ["roots.client.monitored"]
  },
  {
    name: "a kept result is served for other params",
    file: "packages/client/src/connection/ResponseCache.ts",
    from: "`${method} ${JSON.stringify(sorted)}`",
    to: "`${method} `",
    test: "packages/client/test/connection/ResponseCache.test.ts",
    ids: ["caching.key.method-and-params"]
  },
  {
    name: "a result of a request with answers is kept",
    file: "packages/client/src/connection/StatelessMemory.ts",
    from: "if (!retried && isJsonObject(result))",
    to: "if (isJsonObject(result))",
    test: "packages/client/test/connection/ResponseCache.test.ts",
    ids: ["caching.key.no-retries"]
  },
  {
    name: "a kept result is fresh for ever",
    file: "packages/client/src/connection/ResponseCache.ts",
    from: "if (now < entry.freshUntil) return entry.result",
    to: "return entry.result",
    test: "packages/client/test/connection/ResponseCache.test.ts",
    ids: ["caching.ttl.positive"]
  },
  {
    name: "an empty cursor is the end of a list",
    file: "packages/client/src/features/Lists.ts",
    from: "if (nextCursor === undefined) return Effect",
    to: 'if (nextCursor === undefined || nextCursor === "") return Effect',
    test: "packages/client/test/features/Lists.test.ts",
    ids: ["pagination.cursor.empty"]
  },
  {
    name: "a client trims cursors",
    file: "packages/client/src/features/Lists.ts",
    from: "connection.requestOn(session, method, { cursor }, options)",
    to: "connection.requestOn(session, method, { cursor: cursor.trim() }, options)",
    test: "packages/client/test/features/Lists.test.ts",
    ids: ["pagination.client.opaque-unmodified", "pagination.client.opaque-format"]
  },
  {
    name: "a completion with an unknown id is announced",
    file: "packages/client/src/answering/UrlElicitations.ts",
    from: "if (done === undefined) return\n",
    to: "if (done === undefined) return this.hub.publish(id)\n",
    test: "packages/client/test/answering/UrlElicitations.test.ts",
    ids: ["elicitation.complete.unknown-ignored"]
  },
  {
    name: "a result of a tool is accepted whatever it contains",
    file: "packages/client/src/connection/StatefulEra.ts",
    from: "result instanceof OtherResult ? Effect.succeed(result) : read(result)",
    to: "result instanceof OtherResult ? Effect.succeed(result) : Effect.catch(read(result), () => Effect.succeed(result as never))",
    test: "packages/client/test/features/CallResults.test.ts",
    ids: ["tools.security.result-validated"]
  },
  {
    name: "a server process that crashed is not started again",
    file: "packages/client/src/reconnect/ReconnectingConnection.ts",
    from: "policy: reopens ? policy : undefined",
    to: "policy: undefined",
    test: "packages/client/test/process/reconnect/ReconnectStdio.test.ts",
    ids: ["stdio.client.restarts"]
  },
  {
    name: "a server process gets only the inherited environment variables",
    file: "packages/client/src/transport/Stdio.ts",
    from: "{ ...inheritedEnvironment(), ...env }",
    to: "inheritedEnvironment()",
    test: "packages/client/test/process/transport/Stdio.test.ts",
    ids: ["authorization.stdio.environment"]
  },
  {
    name: "the client always answers with its first roots",
    file: "packages/core/src/request/Roots.ts",
    from: "list: SubscriptionRef.get(ref)",
    to: "list: Effect.succeed(SubscriptionRef.getUnsafe(ref))",
    test: "packages/client/test/answering/Questions.test.ts",
    ids: ["roots.client.changes-noticed"]
  },
  {
    name: "the messages of a sampling request are repeated with the next one",
    file: "packages/client/src/answering/ServerRequests.ts",
    from: "service.createMessage(prompt)",
    to: "service.createMessage({ ...prompt, messages: ((service as any).kept = [...((service as any).kept ?? []), ...prompt.messages]) })",
    test: "packages/client/test/answering/Questions.test.ts",
    ids: ["sampling.messages.not-retained"]
  },
  {
    name: "a form counts as accepted whatever the user answers",
    file: "packages/client/src/answering/ElicitationChecks.ts",
    from: 'answer.action !== "accept") return Effect.succeed(rest)',
    to: 'answer.action !== "accept") return Effect.succeed({ action: "accept" })',
    test: "packages/client/test/answering/Elicitation.test.ts",
    ids: ["elicitation.client.approval"]
  },
  {
    name: "a list starts with its second page",
    file: "packages/client/src/features/Lists.ts",
    from: "connection.request(method, {}, options)",
    to: 'connection.request(method, { cursor: "2" }, options)',
    test: "packages/client/test/features/Lists.test.ts",
    ids: ["caching.pages.snapshot"]
  },
  {
    name: "a client drops the completion's count of omitted values",
    file: "packages/client/src/assembly/members.ts",
    from: "({ completion }) => completion)",
    to: "({ completion: { values } }) => ({ values }))",
    test: "packages/client/test/features/Lists.test.ts",
    ids: ["completion.client.partial-handled"]
  }
]
