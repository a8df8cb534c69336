/** Faults put in by hand, and the test that notices each. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "a module of a client of promises that cannot be loaded is a defect",
    file: "packages/promise/src/client/connect.ts",
    from: 'imported(() => import("@effect-mcp/client/Fetch"))',
    to: 'Effect.promise(() => import("@effect-mcp/client/Fetch"))',
    test: "packages/promise/test/notLoaded.test.ts"
  },
  {
    name: "a client of promises whose own modules cannot be loaded rejects with the error of the import",
    file: "packages/promise/src/client/McpClient.ts",
    from: ".catch(notLoaded)",
    to: "",
    test: "packages/promise/test/notLoaded.test.ts"
  },
  {
    name: "a typed call of promises reads structured content alone",
    file: "packages/promise/src/client/output.ts",
    from: "StructuredContent.read(result)",
    to: "result.structuredContent",
    test: "packages/promise/test/features.test.ts"
  },
  {
    name: "an option of HTTP that is misspelled is passed over",
    file: "packages/promise/src/server/checked.ts",
    from: "if (kind === undefined)",
    to: "if (name === undefined)",
    test: "packages/promise/test/process/http.test.ts"
  },
  {
    name: "the stack of an error that a handler throws is sent",
    file: "packages/promise/src/ErrorTranslation.ts",
    from: "thrown instanceof Error ? thrown.message : thrown",
    to: "thrown instanceof Error ? thrown.stack : thrown",
    test: "packages/promise/test/features.test.ts"
  },
  {
    name: "a question of a round that is over rejects, and the handler runs on",
    file: "packages/promise/src/handler/Request.ts",
    from: "} else if (!(question && this.#over && this.suspended)) {",
    to: "} else {",
    test: "packages/promise/test/questions.test.ts"
  },
  {
    name: "a cancelled request does not wait for its handler",
    file: "packages/promise/src/handler/run.ts",
    from: "return suspended ? Effect.void :",
    to: "return !suspended ? Effect.void :",
    test: "packages/promise/test/cancel.test.ts"
  },
  {
    name: "the reason of a cancel is lost in 2026-07-28",
    file: "packages/server/src/mrtr/Replay.ts",
    from: "handler.interruptUnsafe(reason.fiberId, Context.makeUnsafe(reason.annotations))",
    to: "handler.interruptUnsafe(reason.fiberId)",
    test: "packages/promise/test/cancel.test.ts"
  },
  {
    name: "arguments are not validated",
    file: "packages/promise/src/schema/Standard.ts",
    from: "if (result.issues !== undefined) return",
    to: "if (result.issues === 0) return",
    test: "packages/promise/test/schema/schemas.test.ts"
  },
  {
    name: "a value of verify that is no user is an anonymous caller",
    file: "packages/promise/src/server/principal.ts",
    from: 'if (typeof subject !== "string" || subject === "")',
    to: "if (subject === 0)",
    test: "packages/promise/test/process/http.test.ts"
  },
  {
    name: "a feature is shown if its visible returns a promise",
    file: "packages/promise/src/server/visible.ts",
    from: 'if (typeof shown === "boolean") return shown',
    to: "return Boolean(shown)",
    test: "packages/promise/test/boundary.test.ts"
  },
  {
    name: "a session in memory outlives its server",
    file: "packages/promise/src/client/connect.ts",
    from: "runtime.onClose(() => Effect.runPromise(close))",
    to: "runtime.onClose(() => Promise.resolve())",
    test: "packages/promise/test/features.test.ts"
  },
  {
    name: "a tool that failed gives a typed value",
    file: "packages/promise/src/client/output.ts",
    from: "if (result.isError === true) throw",
    to: "if (result.isError === undefined) throw",
    test: "packages/promise/test/features.test.ts"
  },
  {
    name: "a request is served beside the hook that refuses it",
    file: "packages/promise/src/server/hooks.ts",
    from: "query(() => before(given, known), rules, place),",
    to: "Effect.ignore(query(() => before(given, known), rules, place)),",
    test: "packages/promise/test/hooks.test.ts"
  }
]
