/** Small faults against statements of the specification, each with the one test that proves the statement. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const statements: ReadonlyArray<Fault> = [
  {
    name: "an error code that the specification keeps is passed on",
    file: "packages/server/src/dispatch/StatelessEra.ts",
    from: "error.code >= -32099 && !isAllowedError(error)",
    to: "error.code >= -32019 && !isAllowedError(error)",
    test: "packages/server/test/dispatch/stateless/context.test.ts",
    ids: ["json-rpc.error.reserved"]
  },
  {
    name: "an error code of older revisions is passed on",
    file: "packages/server/src/dispatch/StatelessEra.ts",
    from: "error.code <= -32000 && error.code",
    to: "error.code <= -32020 && error.code",
    test: "packages/server/test/dispatch/stateless/context.test.ts",
    ids: ["json-rpc.error.legacy-not-allocated"]
  },
  {
    name: "the code of a missing capability is passed on without the capability",
    file: "packages/server/src/dispatch/StatelessEra.ts",
    from: "? isJsonObject(data.requiredCapabilities)",
    to: "? true",
    test: "packages/server/test/dispatch/stateless/context.test.ts",
    ids: ["json-rpc.error.meaning"]
  },
  {
    name: "a revision that the server does not speak is answered as the newest",
    file: "packages/server/src/dispatch/StatelessEra.ts",
    from: "? this.served.get(version) : undefined",
    to: '? served.get("2026-07-28") : undefined',
    test: "packages/server/test/dispatch/stateless/context.test.ts",
    ids: ["versioning.unsupported.error"]
  },
  {
    name: "a notification of a subscription lacks the id of the subscription",
    file: "packages/server/src/dispatch/SubscriptionsListen.ts",
    from: "{ ...params, _meta: this.meta }",
    to: "params",
    test: "packages/server/test/dispatch/stateless/subscriptions.test.ts",
    ids: ["meta.notification.subscription"]
  },
  {
    name: "a subscription is notified of lists that it did not name",
    file: "packages/server/src/dispatch/SubscriptionsListen.ts",
    from: "if (this.lists.includes(kind)) this.send",
    to: "this.send",
    test: "packages/server/test/dispatch/stateless/subscriptions.test.ts",
    ids: ["subscriptions.filter.only-requested"]
  },
  {
    name: "a subscription grants notifications that the server does not send",
    file: "packages/protocol/src/model/Subscriptions.ts",
    from: "=== true && capabilities[kind]?.listChanged === true",
    to: "=== true",
    test: "packages/server/test/dispatch/stateless/subscriptions.test.ts",
    ids: ["subscriptions.acknowledged.subset"]
  },
  {
    name: "a subscription that the server ends gets no result",
    file: "packages/server/src/dispatch/SubscriptionsListen.ts",
    from: "yield* own.length === 0 ? closing",
    to: "yield* own.length === 0 ? Effect.never",
    test: "packages/server/test/http/session/streams.test.ts",
    ids: ["subscriptions.end.answered"]
  },
  {
    name: "a state is used a second time",
    file: "packages/server/src/mrtr/ReplayGuard.ts",
    from: "if (known !== undefined) return Deferred.await",
    to: "if (known === null) return Deferred.await",
    test: "packages/server/test/mrtr/tampering.test.ts",
    ids: ["mrtr.state.single-use"]
  },
  {
    name: "a state is accepted from another principal",
    file: "packages/server/src/mrtr/InputRounds.ts",
    from: '=> callerKey(principal) ?? ""',
    to: "=> String(principal.subject === undefined)",
    test: "packages/server/test/mrtr/tampering.test.ts",
    ids: ["mrtr.state.principal"]
  },
  {
    name: "a state is accepted with another method or other params",
    file: "packages/server/src/mrtr/InputRounds.ts",
    from: "revision.version, method, boundParams(params)])",
    to: "revision.version])",
    test: "packages/server/test/mrtr/tampering.test.ts",
    ids: ["mrtr.state.same-request"]
  },
  {
    name: "a state never expires",
    file: "packages/server/src/mrtr/StateSeal.ts",
    from: "payload.expires > (yield* Clock.currentTimeMillis) ? payload",
    to: "payload.expires > 0 ? payload",
    test: "packages/server/test/mrtr/tampering.test.ts",
    ids: ["mrtr.state.expires"]
  },
  {
    name: "a state that does not open is a fault of the server",
    file: "packages/server/src/mrtr/StateSeal.ts",
    from: "(effect) => Effect.mapError(effect, invalidState)",
    to: "(effect) => Effect.orDie(effect)",
    test: "packages/server/test/mrtr/tampering.test.ts",
    ids: ["mrtr.state.untrusted", "mrtr.state.protected", "mrtr.state.refused"]
  },
  {
    name: "an answer that does not match its question reaches the handler",
    file: "packages/server/src/mrtr/Questions.ts",
    from: "return Effect.catch(result.decode(answers[key]), () => send)",
    to: "return Effect.succeed(answers[key])",
    test: "packages/server/test/mrtr/rounds.test.ts",
    ids: ["mrtr.answers.validated"]
  },
  {
    name: "a question is asked that the client did not declare",
    file: "packages/server/src/mrtr/Questions.ts",
    from: "if (missing !== undefined || codec === undefined) {",
    to: "if (codec === undefined) {",
    test: "packages/server/test/dispatch/stateless/context.test.ts",
    ids: ["mrtr.questions.declared"]
  },
  {
    name: "a result asks nothing and has no state",
    file: "packages/server/src/mrtr/InputRounds.ts",
    from: 'return EncodedResult.core("input_required", { inputRequests, requestState })',
    to: 'return EncodedResult.core("input_required", {})',
    test: "packages/server/test/mrtr/rounds.test.ts",
    ids: ["mrtr.result.not-empty"]
  },
  {
    name: "a server answers with its oldest revision",
    file: "packages/server/src/dispatch/Initialize.ts",
    from: "=== requested) ?? revisions.at(-1)",
    to: "=== requested) ?? revisions.at(0)",
    test: "packages/server/test/dispatch/initialize.test.ts",
    ids: ["lifecycle.version.server-answers-latest"]
  },
  {
    name: "a server rejects a version that it does not speak",
    file: "packages/server/src/dispatch/Initialize.ts",
    from: "=== requested) ?? revisions.at(-1)",
    to: "=== requested)",
    test: "packages/server/test/dispatch/initialize.test.ts",
    ids: ["lifecycle.version.server-answers-other"]
  },
  {
    name: "a server answers with its newest revision whatever was offered",
    file: "packages/server/src/dispatch/Initialize.ts",
    from: "revisions.find((revision) => revision.version === requested) ?? revisions.at(-1)",
    to: "revisions.at(-1)",
    test: "packages/server/test/dispatch/initialize.test.ts",
    ids: ["lifecycle.version.server-echoes-supported"]
  },
  {
    name: "a session answers requests before initialize",
    file: "packages/server/src/dispatch/StatefulEra.ts",
    from: "if (negotiated === undefined) return Effect.fail(this.notInitialized)",
    to: "if (negotiated === undefined) return Effect.succeed({})",
    test: "packages/server/test/dispatch/initialize.test.ts",
    ids: ["lifecycle.initialize.first"]
  },
  {
    name: "a question leaves before the client said initialized",
    file: "packages/server/src/dispatch/StatefulEra.ts",
    from: "ready: session.whenReady",
    to: "ready: Effect.void",
    test: "packages/server/test/dispatch/initialize.test.ts",
    ids: ["lifecycle.server.only-ping-and-log-before-initialized"]
  },
  {
    name: "tool results travel with other content",
    file: "packages/core/src/request/samplingMessages.ts",
    from: "if (results.length < content.length) return",
    to: "if (results.length > content.length) return",
    test: "packages/server/test/request/asking.test.ts",
    ids: ["sampling.tool-results.alone"]
  },
  {
    name: "a tool result matches any tool use",
    file: "packages/core/src/request/samplingMessages.ts",
    from: "if (!open.delete(result.toolUseId))",
    to: "if (open.delete(result.toolUseId) === undefined)",
    test: "packages/server/test/request/asking.test.ts",
    ids: ["sampling.tool-results.known-id"]
  },
  {
    name: "a tool use remains without a result",
    file: "packages/core/src/request/samplingMessages.ts",
    from: 'if (missing !== undefined) return `Tool result missing in request: "${missing}" is not answered in the next message`',
    to: "",
    test: "packages/server/test/request/asking.test.ts",
    ids: ["sampling.tool-results.balanced"]
  },
  {
    name: "a page is requested at a text that is not a URL",
    file: "packages/core/src/request/Elicitation.ts",
    from: "URL.canParse(url) ? Effect.void",
    to: "url !== undefined ? Effect.void",
    test: "packages/server/test/request/asking.test.ts",
    ids: ["elicitation.url.valid"]
  },
  {
    name: "a page is required from a client that cannot show pages",
    file: "packages/core/src/request/Elicitation.ts",
    from: 'if (!modes.url) return Effect.fail(CapabilityMissing.of("elicitation.url"))',
    to: "",
    test: "packages/server/test/request/asking.test.ts",
    ids: ["elicitation.required-error.only-if-required"]
  },
  {
    name: "the error of required pages lists none",
    file: "packages/core/src/request/Elicitation.ts",
    from: "data: { elicitations } })",
    to: "data: { elicitations: [] } })",
    test: "packages/server/test/request/asking.test.ts",
    ids: ["elicitation.required-error.lists", "elicitation.required-error.url-mode"]
  },
  {
    name: "the error of required pages has another code",
    file: "packages/core/src/request/Elicitation.ts",
    from: "code: McpError.UrlElicitationRequired, message, data",
    to: "code: McpError.InvalidRequest, message, data",
    test: "packages/server/test/request/asking.test.ts",
    ids: ["elicitation.error.required"]
  },
  {
    name: "the completion of a page is announced to clients without pages",
    file: "packages/server/src/dispatch/Server.ts",
    from: "if (clientCapabilities?.elicitation?.url === undefined) return\n",
    to: "",
    test: "packages/server/test/request/asking.test.ts",
    ids: ["elicitation.complete.initiator-only"]
  },
  {
    name: "a caller calls a tool that is hidden from it",
    file: "packages/server/src/features/ToolRegistry.ts",
    from: "(sees(entry, principal) ? entry.call(params, request) : elsewhere())",
    to: "entry.call(params, request)",
    test: "packages/server/test/features/registry.test.ts",
    ids: ["tools.security.access-control"]
  },
  {
    name: "a log message has the stack of an error",
    file: "packages/server/src/dispatch/Logging.ts",
    from: "return `${original.name}: ${original.message}`",
    to: "return original.stack",
    test: "packages/server/test/dispatch/logging.test.ts",
    ids: ["logging.content.no-internals"]
  },
  {
    name: "a level that is too low is logged",
    file: "packages/server/src/dispatch/Logging.ts",
    from: "if (least === undefined || !isAtLeast(level, least)) return",
    to: "if (least === undefined) return",
    test: "packages/server/test/dispatch/logging.test.ts",
    ids: ["logging.level.threshold"]
  },
  {
    name: "the name of a header is any text",
    file: "packages/protocol/src/wire/HeaderParams.ts",
    from: 'typeof name !== "string" || !token.test(name)',
    to: 'typeof name !== "string"',
    test: "packages/server/test/dispatch/stateless/features.test.ts",
    ids: ["tools.header.token", "tools.header.no-control-characters", "tools.header.not-empty"]
  },
  {
    name: "a header mirrors a number or an object",
    file: "packages/protocol/src/wire/HeaderParams.ts",
    from: 'else if (!isType(schema["type"]))',
    to: 'else if (schema["type"] === undefined)',
    test: "packages/server/test/dispatch/stateless/features.test.ts",
    ids: ["tools.header.primitive"]
  },
  {
    name: "two arguments have the same header",
    file: "packages/protocol/src/wire/HeaderParams.ts",
    from: "else if (params.has(name.toLowerCase()))",
    to: "else if (params.has(name))",
    test: "packages/server/test/dispatch/stateless/features.test.ts",
    ids: ["tools.header.unique"]
  },
  {
    name: "a header mirrors a path that no property leads to",
    file: "packages/protocol/src/wire/HeaderParams.ts",
    from: 'keyword === "properties" && path !== undefined',
    to: "path !== undefined",
    test: "packages/server/test/dispatch/stateless/features.test.ts",
    ids: ["tools.header.reachable"]
  },
  {
    name: "an answer to a question is accepted although it does not decode",
    file: "packages/core/src/request/RemoteInput.ts",
    from: "Effect.mapError(result.decode(answer), (message) =>",
    to: "Effect.mapError(Effect.catch(result.decode(answer), () => Effect.succeed(answer as never)), (message: string) =>",
    test: "packages/server/test/request/asking.test.ts",
    ids: ["sampling.security.content-validated"]
  },
  {
    name: "an answer without the roots leaves the handler waiting",
    file: "packages/server/src/mrtr/Questions.ts",
    from: "return Effect.catch(result.decode(answers[key]), () => send)",
    to: "return Effect.catch(result.decode(answers[key]), () => Effect.never)",
    test: "packages/server/test/request/asking.test.ts",
    ids: ["roots.server.unavailable"]
  },
  {
    name: "a server asks for the context of all servers",
    file: "packages/core/src/request/Sampling.ts",
    from: 'input.ask("sampling/createMessage", params, options)',
    to: 'input.ask("sampling/createMessage", { includeContext: "allServers", ...params }, options)',
    test: "packages/server/test/request/asking.test.ts",
    ids: ["sampling.context.avoided"]
  },
  {
    name: "a defect is reported as an invalid request",
    file: "packages/core/src/peer/answer.ts",
    from: "      : McpError.internalError()",
    to: '      : McpError.invalidRequest("")',
    test: "packages/server/test/dispatch/logging.test.ts",
    ids: ["logging.error.configuration"]
  },
  {
    name: "annotations of a log are not sent",
    file: "packages/core/src/request/Log.ts",
    from: "own.length === 0 ? data",
    to: "own.length >= 0 ? data",
    test: "packages/server/test/dispatch/logging.test.ts",
    ids: ["logging.server.context"]
  },
  {
    name: "the log of a request goes to all clients",
    file: "packages/server/src/dispatch/Logging.ts",
    from: 'Spans.notify(sink, JsonRpc.notification("notifications/message", params), "data", request.id, sender)',
    to: '((options as any).sinks = new Set([...((options as any).sinks ?? []), sink])).forEach((each: Sink) => each.send(JsonRpc.notification("notifications/message", params), "data", request.id))',
    test: "packages/server/test/dispatch/logging.test.ts",
    ids: ["logging.security.access-control"]
  },
  {
    name: "a mount uses the former code for a missing resource for another error",
    file: "packages/server/src/features/ResourceEntries.ts",
    from: "  code === McpError.ResourceNotFound ||",
    to: "  false ||",
    test: "packages/server/test/features/registry.test.ts",
    ids: ["resources.read.former-code"]
  }
]
