/** Small faults against statements of the specification, each with the one test that proves the statement. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const statements: ReadonlyArray<Fault> = [
  {
    name: "an error code that the specification keeps is passed on",
    file: "packages/server/src/Stateless.ts",
    from: "error.code >= -32099 && !meant(error)",
    to: "error.code >= -32019 && !meant(error)",
    test: "packages/server/test/stateless/context.test.ts",
    ids: ["json-rpc.error.reserved"]
  },
  {
    name: "an error code of older revisions is passed on",
    file: "packages/server/src/Stateless.ts",
    from: "error.code <= -32000 && error.code",
    to: "error.code <= -32020 && error.code",
    test: "packages/server/test/stateless/context.test.ts",
    ids: ["json-rpc.error.legacy-not-allocated"]
  },
  {
    name: "a revision that the server does not speak is answered as the newest",
    file: "packages/server/src/Stateless.ts",
    from: "? served.get(version) : undefined",
    to: '? served.get("2026-07-28") : undefined',
    test: "packages/server/test/stateless/context.test.ts",
    ids: ["versioning.unsupported.error"]
  },
  {
    name: "a notification of a subscription does not say whose it is",
    file: "packages/server/src/Listen.ts",
    from: "{ ...params, _meta: this.meta }",
    to: "params",
    test: "packages/server/test/stateless/subscriptions.test.ts",
    ids: ["meta.notification.subscription"]
  },
  {
    name: "a subscription is granted what the server does not announce",
    file: "packages/server/src/Listen.ts",
    from: "=== true && capabilities[kind]?.listChanged === true",
    to: "=== true",
    test: "packages/server/test/stateless/subscriptions.test.ts",
    ids: ["subscriptions.acknowledged.subset"]
  },
  {
    name: "a subscription is not acknowledged",
    file: "packages/server/src/Listen.ts",
    from: 'stream.send("notifications/subscriptions/acknowledged", { notifications: granted })',
    to: "",
    test: "packages/server/test/http/streams.test.ts",
    ids: ["subscriptions.acknowledged.first"]
  },
  {
    name: "a subscription that the server ends is not answered",
    file: "packages/server/src/Listen.ts",
    from: "yield* closing\n",
    to: "yield* Effect.never\n",
    test: "packages/server/test/http/streams.test.ts",
    ids: ["subscriptions.end.answered"]
  },
  {
    name: "a state is used a second time",
    file: "packages/server/src/mrtr/ReplayGuard.ts",
    from: "if (known !== undefined) return Deferred.await",
    to: "if (known === null) return Deferred.await",
    test: "packages/server/test/stateless/tampering.test.ts",
    ids: ["mrtr.state.single-use"]
  },
  {
    name: "a state is accepted with another method or other params",
    file: "packages/server/src/mrtr/InputRounds.ts",
    from: "revision.version, method, salient(params)])",
    to: "revision.version])",
    test: "packages/server/test/stateless/tampering.test.ts",
    ids: ["mrtr.state.same-request"]
  },
  {
    name: "a state never expires",
    file: "packages/server/src/mrtr/AeadSeal.ts",
    from: "payload.expires > (yield* Clock.currentTimeMillis) ? payload",
    to: "payload.expires > 0 ? payload",
    test: "packages/server/test/stateless/tampering.test.ts",
    ids: ["mrtr.state.expires"]
  },
  {
    name: "an answer that does not fit its question reaches the handler",
    file: "packages/server/src/mrtr/Replay.ts",
    from: "return Effect.catch(coders.result.decode(answers[key]), () => send)",
    to: "return Effect.succeed(answers[key])",
    test: "packages/server/test/stateless/rounds.test.ts",
    ids: ["mrtr.answers.validated"]
  },
  {
    name: "a question is asked that the client did not declare",
    file: "packages/server/src/mrtr/Replay.ts",
    from: "if (missing !== undefined || codec === undefined) {",
    to: "if (codec === undefined) {",
    test: "packages/server/test/stateless/context.test.ts",
    ids: ["mrtr.questions.declared"]
  },
  {
    name: "a result asks nothing and has no state",
    file: "packages/server/src/mrtr/InputRounds.ts",
    from: 'return new Asked({ resultType: "input_required", inputRequests: requests, requestState })',
    to: 'return new Asked({ resultType: "input_required" })',
    test: "packages/server/test/stateless/rounds.test.ts",
    ids: ["mrtr.result.not-empty"]
  },
  {
    name: "a server answers with its oldest revision",
    file: "packages/server/src/Lifecycle.ts",
    from: "=== requested) ?? revisions.at(-1)",
    to: "=== requested) ?? revisions.at(0)",
    test: "packages/server/test/lifecycle.test.ts",
    ids: ["lifecycle.version.server-answers-latest"]
  },
  {
    name: "a server refuses a version that it does not speak",
    file: "packages/server/src/Lifecycle.ts",
    from: "=== requested) ?? revisions.at(-1)",
    to: "=== requested)",
    test: "packages/server/test/lifecycle.test.ts",
    ids: ["lifecycle.version.server-answers-other"]
  },
  {
    name: "a server answers with its newest revision whatever was offered",
    file: "packages/server/src/Lifecycle.ts",
    from: "revisions.find((revision) => revision.version === requested) ?? revisions.at(-1)",
    to: "revisions.at(-1)",
    test: "packages/server/test/lifecycle.test.ts",
    ids: ["lifecycle.version.server-echoes-supported"]
  },
  {
    name: "a session answers requests before initialize",
    file: "packages/server/src/Stateful.ts",
    from: "if (negotiated === undefined) return Effect.fail(unopened)",
    to: "if (negotiated === undefined) return Effect.succeed({})",
    test: "packages/server/test/lifecycle.test.ts",
    ids: ["lifecycle.initialize.first"]
  },
  {
    name: "a question leaves before the client said initialized",
    file: "packages/server/src/Stateful.ts",
    from: "relatedTo: exchange.request.id,\n        timeout: askTimeout,\n        ready: session.whenReady",
    to: "relatedTo: exchange.request.id,\n        timeout: askTimeout,\n        ready: Effect.void",
    test: "packages/server/test/lifecycle.test.ts",
    ids: ["lifecycle.server.only-ping-and-log-before-initialized"]
  },
  {
    name: "tool results travel with other content",
    file: "packages/core/src/Sampling.ts",
    from: "if (results.length < content.length) return",
    to: "if (results.length > content.length) return",
    test: "packages/server/test/asking.test.ts",
    ids: ["sampling.tool-results.alone"]
  },
  {
    name: "a tool result answers any use",
    file: "packages/core/src/Sampling.ts",
    from: "if (!open.delete(result.toolUseId))",
    to: "if (open.delete(result.toolUseId) === undefined)",
    test: "packages/server/test/asking.test.ts",
    ids: ["sampling.tool-results.known-id"]
  },
  {
    name: "a tool use stays without result",
    file: "packages/core/src/Sampling.ts",
    from: 'if (missing !== undefined) return `Tool result missing in request: "${missing}" is not answered in the next message`',
    to: "",
    test: "packages/server/test/asking.test.ts",
    ids: ["sampling.tool-results.balanced"]
  },
  {
    name: "a text that is no URL is asked for",
    file: "packages/core/src/Elicitation.ts",
    from: "URL.canParse(url) ? Effect.void",
    to: "url !== undefined ? Effect.void",
    test: "packages/server/test/asking.test.ts",
    ids: ["elicitation.url.valid"]
  }
]
